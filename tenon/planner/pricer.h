// Prices plans: time and memory of one step, fast enough for a search.
//
// A Pricer is made once for a workload, a cluster and a calibration. Blocks are priced once for
// each strategy and remembered; a plan is then priced in a few microseconds. Pure: the same inputs
// give the same numbers, and nothing outside is read. Not for use from several threads at once:
// give each thread its own.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/cost/efficiency.h"
#include "tenon/machine/cluster.h"
#include "tenon/planner/layer_price.h"
#include "tenon/planner/pipeline_time.h"
#include "tenon/planner/plan.h"
#include "tenon/planner/prediction.h"
#include "tenon/planner/stage_layout.h"
#include "tenon/planner/stage_state_internal.h"
#include "tenon/planner/workload.h"

namespace tenon::planner {

/// Numbers of one priced plan, without allocation. Seconds, bytes of the fullest device.
struct Price {
  double step_seconds = 0;
  double compute_seconds = 0;
  double exposed_communication_seconds = 0;
  double bubble_seconds = 0;
  double optimizer_seconds = 0;
  double other_seconds = 0;
  double bubble_rate = 0;
  MemoryParts memory;
  double reserve_bytes = 0;  // context, library buffers and allocator slack beside `memory`
  /// Computation of the slowest stage, or of the slowest pair of opposite stages where these could
  /// share their work (DualPipe): no schedule of this cut takes less.
  double least_compute_seconds = 0;
  double capacity_bytes = 0;  // of the device that `memory` is about
  bool fits() const { return memory.total() + reserve_bytes <= capacity_bytes; }
};

class Pricer {
 public:
  using Calibrations = std::vector<Calibration>;
  /// `calibrations`: one for each node group, or one for all; empty: shipped ones.
  Pricer(Workload workload, Cluster cluster, Calibrations calibrations = {});
  ~Pricer();
  Pricer(Pricer&&) noexcept;

  const Workload& workload() const { return workload_; }
  const Cluster& cluster() const { return cluster_; }
  const Calibration& calibration(std::size_t group = 0) const { return calibrations_[group]; }

  /// Prices a plan that `check` accepts (its degrees multiply to the devices, its batch divides).
  /// `stages`, where given, receives one entry a pipeline device.
  Price price(const Plan& plan, std::vector<StagePrediction>* stages = nullptr);

  /// What the layers of a plan cost on the devices of one node group, for cutting it into stages.
  struct GroupPrices {
    std::vector<LayerPrice> blocks;  ///< by block type
    LayerPrice first, last;          ///< what joins the first and the last stage
  };
  GroupPrices group_prices(const Plan& plan, std::size_t group);
  /// The node groups that pipeline device `device` of a plan lies in, first and last.
  std::pair<std::size_t, std::size_t> groups_of_stage(const Plan& plan, int device) const;

 private:
  struct Cache;
  void price_classes(const Plan& plan, std::size_t group);
  const LayerPrice& class_price(int index, const Strategy& strategy, std::size_t group);
  StageState stage_on(const Plan& plan, int device, std::size_t group);
  StageState slowest_stage(const Plan& plan, int device);
  BlockCost block_cost(const Plan& plan, int type, Recompute stage, int block) const;
  void add_block_cost(const BlockCost& cost, double count, StageState& stage) const;
  void add_span(const Plan& plan, const ChunkSpan& span, StageState& stage) const;
  void add_ranged_span(const Plan& plan, const ChunkSpan& span, StageState& stage);
  void add_sharded_weights(const Plan& plan, StageState& stage) const;
  bool repeats(const Plan& plan, int device) const;
  void add_extra(const std::vector<int>& classes, bool once, StageState& stage) const;
  void finish_times(const Plan& plan, StageState& stage) const;
  double data_seconds(const Plan& plan, const StageState& stage) const;
  double optimizer_seconds(const Plan& plan, const StageState& stage) const;
  void finish(const Plan& plan, const DeviceModel& model, const PipelineTime& body,
              const StageState& slowest, double tail, double tail_optimizer, double work,
              Price& price) const;

  Workload workload_;
  Cluster cluster_;
  std::vector<Calibration> calibrations_;
  std::vector<DeviceModel> models_;  // one for each node group
  std::unique_ptr<Cache> cache_;
  // Scratch of one call, kept to avoid allocation.
  std::vector<ChunkSpan> spans_;
  std::vector<DeviceTimes> times_;
  std::vector<const LayerPrice*> class_prices_;
  std::vector<LayerPrice> block_prices_;
  std::vector<BlockCost> block_costs_;  // three a block type, by Recompute
  std::vector<int> layers_;             // of each pipeline device
};

/// Makes a Prediction of a Price: rates, parts, stages, uncertainty, the calibration's name.
Prediction predict(Pricer& pricer, const Plan& plan);
/// Relative standard deviation of the step time of `plan`: the calibration's own scatter, wider
/// where the plan leaves what it was fitted on (mixed devices, many nodes, launch-bound layers).
double uncertainty_of(const Pricer& pricer, const Plan& plan, const Price& price);

}  // namespace tenon::planner
