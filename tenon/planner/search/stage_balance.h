// Cutting the model into stages of unequal numbers of layers.
#pragma once

#include <vector>

#include "tenon/planner/pricer.h"

namespace tenon::planner {

/// Layers for each pipeline device so that the slowest stage is as fast as can be, then the sum of
/// all; no stage keeps more than its devices hold, as far as the memory model's main terms say.
/// Dynamic programming over (stage, layers so far). Embedding and head count where they lie, stages
/// on slower devices get less. Empty where the model cannot be cut so, or the plan has a single
/// stage.
/// `fill` is the share of a device's memory that these terms may take.
std::vector<int> balanced_layers(const Plan& plan, Pricer& pricer, double fill = 0.92);

}  // namespace tenon::planner
