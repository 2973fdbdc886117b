#include "tenon/planner/search/space.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/object_reader.h"

namespace tenon::planner {
namespace {

std::vector<int> divisors(std::int64_t n, std::int64_t most) {
  std::vector<int> result;
  for (std::int64_t d = 1; d <= std::min(n, most); ++d) {
    if (n % d == 0) result.push_back(static_cast<int>(d));
  }
  return result;
}

bool divides_all(int degree, const std::vector<Divisor>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(),
                     [&](const Divisor& s) { return s.size % degree == 0; });
}

std::vector<int> keep(std::vector<int> values, const std::function<bool(int)>& good) {
  std::erase_if(values, [&](int v) { return !good(v); });
  return values;
}

// A device that may be cut into groups of tensor peers: beyond two nodes nothing is gained.
std::int64_t widest_tensor(const Cluster& cluster) {
  std::int64_t widest = 1;
  for (const NodeGroup& group : cluster.groups) {
    widest = std::max<std::int64_t>({widest, group.count, group.device.link_domain});
  }
  return 2 * widest;
}

std::vector<ScheduleChoice> schedule_choices() {
  std::vector<ScheduleChoice> choices = {{ScheduleKind::one_f_one_b, 1}};
  for (const int v : {2, 3, 4, 5, 6, 7, 8, 10, 12})
    choices.push_back({ScheduleKind::interleaved, v});
  for (const auto kind :
       {ScheduleKind::zb_h1, ScheduleKind::zb_h2, ScheduleKind::zb_v, ScheduleKind::v_half,
        ScheduleKind::v_min, ScheduleKind::dualpipe, ScheduleKind::automatic}) {
    choices.push_back({kind, 1});
  }
  return choices;
}

std::vector<int> micro_batches(std::int64_t global_batch) {
  std::vector<int> sizes;
  for (const int d : divisors(global_batch, 128)) {
    if (d <= 16 || (d & (d - 1)) == 0) sizes.push_back(d);
  }
  return sizes;
}

void restrict_to_fixed(SearchSpace& space, const std::string& key) {
  const Plan& base = space.base;
  const auto only = [&](auto& list, auto value) { list = {value}; };
  if (key == "tensor_parallel") only(space.tensor, base.tensor_parallel);
  if (key == "pipeline_parallel") only(space.pipeline, base.pipeline_parallel);
  if (key == "context_parallel") only(space.context, base.context_parallel);
  if (key == "expert_parallel") only(space.expert, base.expert_parallel);
  if (key == "micro_batch") only(space.micro_batch, base.micro_batch);
  if (key == "zero_stage") only(space.zero, base.zero_stage);
  if (key == "recompute") {
    // All layers, unless their number is fixed too.
    only(space.recompute, base.recompute);
    space.recompute_layers_fixed = true;
  }
  if (key == "sequence_parallel") only(space.sequence, base.sequence_parallel);
  if (key == "offload") only(space.offload, base.offload);
  if (key == "collective") only(space.collectives, base.collective);
  if (key == "context_method") only(space.context_methods, base.context_method);
  if (key == "placement") only(space.placements, base.placement);
  if (key == "data_parallel") space.data = base.data_parallel;
  if (key == "schedule") {
    std::erase_if(space.schedules,
                  [&](const ScheduleChoice& c) { return c.kind != base.schedule; });
    if (space.schedules.empty())
      space.schedules = {{base.schedule, std::max(1, base.virtual_stages)}};
  }
  if (key == "virtual_stages") {
    std::erase_if(space.schedules,
                  [&](const ScheduleChoice& c) { return c.virtual_stages != base.virtual_stages; });
    if (space.schedules.empty())
      space.schedules = {{ScheduleKind::interleaved, base.virtual_stages}};
  }
  if (key == "layers_per_stage") space.layers_fixed = true;
  if (key == "recompute_layers" || key == "recompute_per_stage")
    space.recompute_layers_fixed = true;
}

// Chunks of layers a plan cuts the model into.
std::int64_t num_chunks(const Plan& plan) {
  if (plan.schedule == ScheduleKind::dualpipe) return plan.pipeline_parallel;
  return std::int64_t{plan.pipeline_parallel} *
         chunks_per_device(plan.schedule, plan.virtual_stages);
}

std::string why_schedule_fails(const Plan& plan, std::int64_t num_blocks) {
  const std::int64_t m = plan.num_micro_batches(), p = plan.pipeline_parallel;
  const bool alone =
      plan.schedule == ScheduleKind::one_f_one_b || plan.schedule == ScheduleKind::gpipe;
  if (p == 1) return alone ? "" : "a pipeline of one stage has nothing to schedule";
  if (num_chunks(plan) > num_blocks)
    return fmt::format("{} chunks for {} layers", num_chunks(plan), num_blocks);
  if (plan.schedule == ScheduleKind::interleaved && (plan.virtual_stages < 2 || m % p != 0)) {
    return "interleaved needs two chunks a device and micro-batches in multiples of the stages";
  }
  if (plan.schedule == ScheduleKind::dualpipe && (p % 2 != 0 || m % 2 != 0 || m < 2 * p)) {
    return "dualpipe needs an even number of stages and of micro-batches, twice as many";
  }
  return "";
}

}  // namespace

Result<SearchSpace> search_space(const Workload& workload, const Cluster& cluster,
                                 const SearchRequest& request) {
  const std::int64_t n = cluster.num_devices();
  SearchSpace space;
  space.base.global_batch = request.global_batch;
  space.base.zero_stage = 1;
  space.tensor = keep(divisors(n, widest_tensor(cluster)),
                      [&](int t) { return divides_all(t, workload.tensor_divisors); });
  space.pipeline = divisors(n, static_cast<std::int64_t>(workload.blocks.size()));
  space.context = keep(divisors(n, workload.context_divisors.empty() ? 1 : 64),
                       [&](int c) { return divides_all(c, workload.context_divisors); });
  space.expert = divisors(std::max(1, workload.num_experts), n);
  space.micro_batch = micro_batches(request.global_batch);
  space.zero = {0, 1, 2, 3};
  space.recompute = {Recompute::none, Recompute::selective, Recompute::full};
  space.schedules = schedule_choices();
  space.sequence = {true, false};
  if (workload.context_divisors.empty()) space.sequence = {false};  // no tokens to divide
  space.offload = {Offload::none, Offload::optimizer, Offload::activations, Offload::both};
  space.placements = {{}, {Axis::tensor, Axis::context, Axis::pipeline, Axis::data}};
  space.collectives = {CollectiveAlgorithm::automatic};
  space.context_methods = {ContextMethod::ring, ContextMethod::all_to_all};
  std::vector<Error> problems;
  for (const auto& [key, value] : request.fixed) {
    if (Status set = set_plan_key(space.base, key, value); !set.ok())
      problems.push_back(std::move(set).error());
    else
      restrict_to_fixed(space, key);
  }
  if (!problems.empty()) return all_of(std::move(problems));
  return space;
}

std::vector<Mesh> meshes(const SearchSpace& space, const Workload& workload,
                         std::int64_t num_devices) {
  std::vector<Mesh> all;
  for (const int t : space.tensor) {
    for (const int p : space.pipeline) {
      for (const int c : space.context) {
        const std::int64_t inner = std::int64_t{t} * p * c;
        if (num_devices % inner != 0) continue;
        const std::int64_t data = num_devices / inner;
        if (space.data > 0 && data != space.data) continue;
        if (space.base.global_batch % data != 0 || p > static_cast<int>(workload.blocks.size()))
          continue;
        for (const int e : space.expert) {
          if (data * c % e == 0) all.push_back({t, p, c, static_cast<int>(data), e});
        }
      }
    }
  }
  return all;
}

bool in_space(const Plan& plan, const SearchSpace& space) {
  const auto among = [](const auto& list, const auto& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  return among(space.tensor, plan.tensor_parallel) &&
         among(space.pipeline, plan.pipeline_parallel) &&
         among(space.context, plan.context_parallel) && among(space.expert, plan.expert_parallel) &&
         (space.data == 0 || plan.data_parallel == space.data);
}

Plan plan_of(const SearchSpace& space, const Mesh& mesh) {
  Plan plan = space.base;
  plan.tensor_parallel = mesh.tensor;
  plan.pipeline_parallel = mesh.pipeline;
  plan.context_parallel = mesh.context;
  plan.data_parallel = mesh.data;
  plan.expert_parallel = mesh.expert;
  plan.sequence_parallel = mesh.tensor > 1 && space.sequence.front();
  return plan;
}

std::string why_invalid(const Plan& plan, const Workload& workload, std::int64_t num_devices) {
  if (plan.num_devices() != num_devices) {
    return fmt::format("its degrees need {} devices, but there are {}", plan.num_devices(),
                       num_devices);
  }
  if (plan.num_micro_batches() < 1) return "the batch does not divide into micro-batches";
  if (!divides_all(plan.tensor_parallel, workload.tensor_divisors))
    return "tensor peers do not divide the heads or widths";
  if (plan.context_parallel > 1 && !divides_all(plan.context_parallel, workload.context_divisors)) {
    return "context peers do not divide the tokens";
  }
  if (plan.sequence_parallel && plan.tensor_parallel == 1)
    return "sequence parallelism needs tensor peers";
  if (plan.expert_parallel > std::max(1, workload.num_experts) ||
      std::int64_t{plan.data_parallel} * plan.context_parallel % plan.expert_parallel != 0) {
    return "expert peers do not divide the experts or the replicas";
  }
  const auto blocks = static_cast<std::int64_t>(workload.blocks.size());
  if (plan.pipeline_parallel > blocks) return "more stages than layers";
  if (!plan.layers_per_stage.empty()) {
    std::int64_t total = 0;
    for (const int layers : plan.layers_per_stage) total += layers;
    const auto parts = static_cast<std::int64_t>(plan.layers_per_stage.size());
    if (total != blocks || (parts != plan.pipeline_parallel && parts != num_chunks(plan))) {
      return "the layers of the stages do not add up to the model";
    }
  }
  return why_schedule_fails(plan, blocks);
}

}  // namespace tenon::planner
