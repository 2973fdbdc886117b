// The step of training as one graph: forward, loss, backward, optimizer update
// (docs/design_training.md).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/ir/graph.h"
#include "tenon/runtime/executable.h"
#include "tenon/train/loss.h"
#include "tenon/train/optimizer.h"

namespace tenon::train {

/// What a tensor of the state is to training.
enum class Role : std::uint8_t {
  weight,      // moved by gradients
  statistics,  // moved by the forward pass (running means of batch_norm)
  moment,      // of the optimizer
  average,     // of a weight over time
  gradient,    // summed over micro-batches
};

/// One tensor that a step reads and replaces.
struct StateEntry {
  std::string name;  // of the weight; "fc1.weight/momentum" for what belongs to one
  Role role = Role::weight;
  Type type;
};

/// A tensor of the samples that a graph reads.
struct BatchField {
  std::string name;
  Type type;  // with the batch in front
};

/// A graph over (state..., batch fields..., scalars) -> (state..., measures). Output i takes the
/// memory of input i for every state i.
struct TrainingGraph {
  std::unique_ptr<Graph> graph;
  std::vector<StateEntry> state;
  std::vector<std::string> fields;    // in the order of the inputs
  std::vector<std::string> measures;  // outputs after the state: "loss", "correct", "count", ...
  std::vector<Donation> donations;
  bool takes_step =
      false;  // inputs learning_rate f32 [], step i64 [], key i64 [] follow the fields
};

struct StepOptions {
  Loss loss;
  Optimizer optimizer;
  std::string target = "label";    // the field that the loss compares with
  std::string answer;              // output that it compares; empty: the first
  std::int64_t micro_batches = 1;  // gradients are summed over so many batches before an update
};

/// The step graph of a model whose trainable constants are its weights. Its batch fields are those
/// of `fields` that the model or the loss reads. With micro_batches > 1 `accumulates` asks for the
/// graph of all micro-batches but the last: it only adds to the sums of gradients.
Result<TrainingGraph> training_graph(const Graph& model, const std::vector<BatchField>& fields,
                                     const StepOptions& options, bool accumulates = false);

/// The same model with its loss for evaluation: inputs are weights and statistics, nothing is
/// replaced. With `shows_answer` the answer is an output, too.
Result<TrainingGraph> evaluation_graph(const Graph& model, const std::vector<BatchField>& fields,
                                       const StepOptions& options, bool shows_answer = false);

/// First values of all state: weights and statistics from the model, averages equal to their
/// weights, the rest zeros. Each tensor has memory of its own.
std::vector<Tensor> initial_state(const Graph& model, const std::vector<StateEntry>& state);

/// A copy of `model` that holds the weights and statistics of a state, or the averages in place of
/// their weights.
Result<std::unique_ptr<Graph>> with_state(const Graph& model, const std::vector<StateEntry>& state,
                                          const std::vector<Tensor>& values, bool uses_averages);

}  // namespace tenon::train
