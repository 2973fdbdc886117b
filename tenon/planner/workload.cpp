// Sums over a workload.
#include "tenon/planner/workload.h"

namespace tenon::planner {

std::string_view name(LayerKind kind) {
  constexpr std::string_view kNames[] = {"embedding", "attention",   "ffn",  "experts",
                                         "head",      "convolution", "table"};
  return kNames[static_cast<int>(kind)];
}

double LayerOp::flops() const {
  if (kind == OpKind::matmul) return 2 * rows * inner * columns;
  if (kind == OpKind::attention) return 2 * rows * keys * heads * (head_dim + value_dim);
  return 0;
}

double LayerClass::flops() const {
  double total = 0;
  for (const auto& op : ops) total += op.flops();
  return total;
}

double LayerClass::num_parameters() const {
  double total = 0;
  for (const auto& parameter : parameters) total += parameter.elements;
  return total;
}

double Workload::num_parameters() const {
  double total = 0;
  for (int c : first) total += classes[c].num_parameters();
  for (int b : blocks) {
    for (int c : block_types[b].classes) total += classes[c].num_parameters();
  }
  for (int c : last) total += classes[c].num_parameters();
  return total;
}

double Workload::model_flops() const {
  const auto of = [this](int c) {
    const LayerClass& layer = classes[c];
    return layer.flops() * (layer.trained ? 3 : 1);
  };
  double total = 0;
  for (int c : first) total += of(c);
  for (int b : blocks) {
    for (int c : block_types[b].classes) total += of(c);
  }
  for (int c : last) total += of(c);
  return total;
}

}  // namespace tenon::planner
