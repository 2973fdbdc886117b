// A model copied into a step graph in its form for training or for evaluation.
#pragma once

#include <map>

#include "tenon/train/training_graph.h"

namespace tenon::train {

/// Copies the nodes of a model. Weights and statistics become inputs of the new graph. In training
/// form, nodes with an attribute `training` take the statistics of the batch, and those with an
/// input `training_mode` draw random numbers by `key`.
class FormCopy {
 public:
  FormCopy(const Graph& model, GraphBuilder& builder, bool is_training);

  /// Declares an input for every weight and statistic, in the order of the model's constants.
  void declare_state(std::vector<StateEntry>& state);
  /// Maps an input of the model.
  void bind(const Value* input, Value* to) { map_[input] = to; }
  void set_key(Value* key) { key_ = key; }
  Status copy_nodes();
  Value* at(const Value* v) const { return map_.at(v); }

  const std::vector<Value*>& weights() const { return weights_; }
  /// New values of statistics, by the index of their state; nullptr where nothing moves them.
  const std::map<std::size_t, Value*>& moved() const { return moved_; }

 private:
  Status copy(const Node& node);
  bool is_statistic(const Value* constant) const;
  const Graph& model_;
  GraphBuilder& builder_;
  bool is_training_;
  Value* key_ = nullptr;
  std::int64_t draws_ = 0;
  std::map<const Value*, Value*> map_;
  std::map<const Value*, std::size_t> state_of_;
  std::map<std::size_t, Value*> moved_;
  std::vector<Value*> weights_;
};

}  // namespace tenon::train
