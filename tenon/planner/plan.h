// The Plan: how a model is spread over a cluster. One struct, whether it is searched, priced,
// simulated, run or exported; JSON and TOML use the field names below.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/machine/device.h"
#include "tenon/planner/schedule_kind.h"

namespace tenon::planner {

enum class Recompute { none, selective, full };
std::string_view name(Recompute recompute);

enum class Optimizer { adam, adam_8bit, adafactor, momentum, sgd, muon };
std::string_view name(Optimizer optimizer);

/// What leaves the device between its use in forward and in backward or in the step.
enum class Offload { none, activations, optimizer, both };
std::string_view name(Offload offload);

/// The format gradients travel in; `none`: the format they are accumulated in.
enum class GradientCompression { none, bf16, fp8 };
std::string_view name(GradientCompression compression);

enum class ContextMethod { ring, all_to_all };
std::string_view name(ContextMethod method);

enum class CollectiveAlgorithm { automatic, ring, tree, hierarchical };
std::string_view name(CollectiveAlgorithm algorithm);

/// The axes of the device mesh, fastest-varying first in the default placement.
enum class Axis { tensor, context, data, pipeline, expert };
inline constexpr int kNumAxes = 5;
std::string_view name(Axis axis);

/// What differs for some layers. `match`: a layer kind (attention, ffn, experts, embedding, head,
/// ...) or a range of layers "3", "3-7" (0-based, both ends included).
struct LayerOverride {
  std::string match;
  std::optional<int> tensor_parallel, context_parallel, expert_parallel, zero_stage;
  std::optional<bool> sequence_parallel;
  std::optional<Recompute> recompute;
  std::optional<Precision> precision;
  std::optional<Offload> offload;
  friend bool operator==(const LayerOverride&, const LayerOverride&) = default;
};

struct Plan {
  int data_parallel = 1;  // required in files; counts replicas of tensor x context x pipeline
  int tensor_parallel = 1;
  int pipeline_parallel = 1;
  int context_parallel = 1;
  int expert_parallel = 1;  // divides data_parallel x context_parallel x tensor_parallel
  bool sequence_parallel = false;
  int zero_stage = 0;
  int zero_group = 0;   // devices that share one sharded copy; 0: the whole data-parallel group
  int micro_batch = 1;  // required in files; sequences
  std::int64_t global_batch = 1;  // required in files; sequences
  ScheduleKind schedule = ScheduleKind::one_f_one_b;
  int virtual_stages = 1;
  Recompute recompute = Recompute::none;
  int recompute_layers = 0;  // layers of each stage that recompute; 0: all of them
  Precision precision = Precision::bf16;
  Optimizer optimizer = Optimizer::adam;
  Offload offload = Offload::none;
  GradientCompression gradient_compression = GradientCompression::none;
  ContextMethod context_method = ContextMethod::ring;
  CollectiveAlgorithm collective = CollectiveAlgorithm::automatic;
  std::vector<int> layers_per_stage;           // per stage, or per chunk in pipeline order
  std::vector<int> micro_batches_per_stage;    // reserved for unequal micro-batch counts
  std::vector<Recompute> recompute_per_stage;  // one per stage; overrides `recompute`
  std::vector<Axis> placement;  // fastest first; empty: tensor, context, data, pipeline
  std::vector<LayerOverride> layers;

  std::int64_t num_devices() const {
    return std::int64_t{data_parallel} * tensor_parallel * pipeline_parallel * context_parallel;
  }
  /// Micro-batches of one pipeline in one step; 0 where the batch does not divide.
  std::int64_t num_micro_batches() const {
    const std::int64_t per_round = std::int64_t{data_parallel} * micro_batch;
    return per_round > 0 && global_batch % per_round == 0 ? global_batch / per_round : 0;
  }
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// A plan file: the plan, and the model and cluster that Tenon embeds when it writes one (their
/// JSON text, empty when absent).
struct PlanFile {
  Plan plan;
  std::string model_json;
  std::string cluster_json;
};

/// Reads JSON or TOML. Accepts the plan object itself, or an object that holds it under "plan".
/// Every problem is reported; unknown keys are answered with the nearest known one.
Result<PlanFile> parse_plan(std::string_view text, std::string_view where);
/// Every scalar key, and each list that is not empty.
nlohmann::ordered_json to_json(const Plan& plan);
/// The same as TOML text.
std::string to_toml(const Plan& plan);
/// Sets one key from its text as `--fix key=value` gives it ("tensor_parallel", "8").
Status set_plan_key(Plan& plan, std::string_view key, std::string_view value);
/// "tp8 pp4 dp16 mbs2 interleaved x3 selective".
std::string summary(const Plan& plan);

}  // namespace tenon::planner
