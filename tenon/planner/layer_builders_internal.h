// The layer classes that model kinds are made of; shared by the workload builders.
#pragma once

#include "tenon/planner/workload.h"

namespace tenon::planner {

/// Sizes of one stack of transformer layers.
struct StackSizes {
  double tokens = 0;  // of one sample in this stack
  double keys = 0;    // attended to (cross attention: the other stack's tokens)
  double hidden = 0;
  const ModelSpec* spec = nullptr;
  bool causal = true;
  bool trained = true;
};

LayerClass attention_layer(const StackSizes& s, const std::string& name = "attention");
LayerClass latent_attention_layer(const StackSizes& s);
LayerClass ffn_layer(const StackSizes& s, double width);
LayerClass experts_layer(const StackSizes& s);
LayerClass token_embedding(const StackSizes& s);
LayerClass patch_embedding(const StackSizes& s);
/// Final norm, projection to `vocab` logits and the loss.
LayerClass vocabulary_head(const StackSizes& s);
LayerClass class_head(double rows, double hidden, double classes);

LayerOp matmul_op(std::string name, double rows, double inner, double columns);
LayerOp memory_op(std::string name, double forward_bytes, double backward_bytes, Split split);
Parameter matrix(std::string name, double elements, bool splits_tensor);

/// ResNet and DLRM.
Workload resnet_workload(const ModelSpec& spec);
Workload dlrm_workload(const ModelSpec& spec);

}  // namespace tenon::planner
