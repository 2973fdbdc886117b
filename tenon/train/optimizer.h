// Optimizers: how a weight and its states move, as calls on operators, one weight at a time.
#pragma once

#include <string>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/base/object_reader.h"
#include "tenon/ops/op_page.h"

namespace tenon::train {

/// Rules and defaults are PyTorch's where it has the optimizer. `lamb`: You et al. 2019 (arXiv
/// 1904.00962). `adafactor`: Shazeer and Stern 2018 (arXiv 1804.04235). `lion`: Chen et al. 2023
/// (arXiv 2302.06675).
struct Optimizer {
  enum class Kind : std::uint8_t { sgd, adam, adamw, lamb, adafactor, lion };
  Kind kind = Kind::sgd;
  double learning_rate = 0.01;
  double momentum = 0.9;  // sgd
  bool nesterov = false;  // sgd
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;     // adamw, lamb, adafactor, lion: apart from the gradient
  bool decays_vectors = true;  // whether weights of fewer than two axes decay, too
  double clip_norm = 0;  // > 0: gradients are scaled so that their common norm is at most this
  double ema = 0;        // > 0: an average of weights with this decay, used for evaluation

  bool uses_count() const { return kind != Kind::sgd && kind != Kind::lion; }
};

/// One state of a weight: "momentum", and its sizes.
struct StateSpec {
  std::string name;
  Dims dims;
};
/// The states that the optimizer keeps for a weight of `dims`; all start at zero.
std::vector<StateSpec> optimizer_states(const Optimizer& optimizer, const Dims& dims);

/// Scalars of one step, shared by all weights: f32 [].
struct StepScalars {
  Value* rate = nullptr;   // the learning rate of the step
  Value* count = nullptr;  // of this step, from 1
  Value* bias1 = nullptr;  // 1 - beta1^count
  Value* bias2 = nullptr;  // 1 - beta2^count
};
/// Computes the scalars that the optimizer needs from rate f32 [] and step i64 [].
StepScalars step_scalars(ops::B b, const Optimizer& optimizer, Value* rate, Value* step);

/// The new weight, then the new states in the order of optimizer_states.
Values updated(ops::B b, const Optimizer& optimizer, const StepScalars& scalars, Value* weight,
               Value* gradient, const Values& states);

/// Reads the section [optimizer]; problems go to the reader.
Optimizer read_optimizer(ObjectReader& keys);
Json to_json(const Optimizer& optimizer);

}  // namespace tenon::train
