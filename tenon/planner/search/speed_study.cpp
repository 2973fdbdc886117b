// How fast the planner answers at the sizes that matter.
#include "tenon/planner/event_simulation.h"
#include "tenon/planner/pipeline/auto_schedule.h"
#include "tenon/planner/search/evaluator.h"
#include "tenon/planner/search/search.h"
#include "tenon/planner/search/study.h"

namespace tenon::planner {
namespace {

SpeedResult timed_search(std::string what, const char* model, const Cluster& cluster,
                         std::int64_t batch, const std::function<double()>& clock) {
  const double start = clock();
  Pricer pricer(workload_of(*model_named(model)), cluster);
  SearchRequest request;
  request.global_batch = batch;
  const Result<SearchReport> report = search(pricer, request);
  return {std::move(what), clock() - start,
          report.ok() ? static_cast<double>(report->configurations) : 0, "configurations"};
}

/// Distinct, valid configurations of a 405B model on 16,384 devices, priced one after the other.
SpeedResult timed_pricing(const std::function<double()>& clock) {
  Pricer pricer(workload_of(*model_named("llama3-405b")), *uniform_cluster("H100-SXM", 16384));
  SearchRequest request;
  request.global_batch = 2048;
  const Result<SearchSpace> space = search_space(pricer.workload(), pricer.cluster(), request);
  TENON_CHECK(space.ok(), "a space without fixed keys");
  Evaluator evaluator(pricer, request);
  const double start = clock();
  for (const Mesh& mesh : meshes(*space, pricer.workload(), 16384)) {
    Plan plan = plan_of(*space, mesh);
    for (const int micro : space->micro_batch) {
      plan.micro_batch = micro;
      for (const ScheduleChoice& choice : space->schedules) {
        plan.schedule = choice.kind, plan.virtual_stages = choice.virtual_stages;
        for (const Recompute recompute : space->recompute) {
          plan.recompute = recompute;
          for (const int zero : space->zero) {
            plan.zero_stage = zero;
            evaluator.evaluate(plan);
          }
        }
      }
    }
  }
  return {"pricing, 405B on 16,384 devices", clock() - start,
          static_cast<double>(evaluator.count()), "configurations"};
}

/// One step of 405B on 16,384 devices: an event for each rank, micro-batch and phase.
SpeedResult timed_events(const std::function<double()>& clock) {
  Pricer pricer(workload_of(*model_named("llama3-405b")), *uniform_cluster("H100-SXM", 16384));
  Plan plan;
  plan.tensor_parallel = 8, plan.pipeline_parallel = 16, plan.data_parallel = 128;
  plan.sequence_parallel = true, plan.zero_stage = 1;
  plan.schedule = ScheduleKind::interleaved, plan.virtual_stages = 4;
  plan.global_batch = 128 * 32;
  RankSetup setup;
  setup.fold = false;
  const double start = clock();
  const Result<EventSimulation> run = simulate_events(pricer, plan, setup);
  TENON_CHECK(run.ok(), "a plan that is valid");
  return {"event simulation of 16,384 ranks, unfolded", clock() - start,
          static_cast<double>(run->report.events), "events"};
}

/// Our own schedule for a deep pipeline within 1F1B's memory.
SpeedResult timed_schedule(const std::function<double()>& clock) {
  Pipeline pipeline;
  pipeline.micro_batches = 512;
  pipeline.stages.assign(64, StageTimes{1.0, 1.1, 0.9, 0.05, 1});
  pipeline.memory_limits = {64};
  const double start = clock();
  const Result<Schedule> schedule = auto_schedule(pipeline);
  TENON_CHECK(schedule.ok(), "a pipeline that fits");
  return {"our schedule for 64 stages, 512 micro-batches", clock() - start, 64.0 * 512 * 3, "ops"};
}

}  // namespace

std::vector<SpeedResult> study_speed(const std::function<double()>& clock) {
  const Cluster large = *uniform_cluster("H100-SXM", 16384);
  return {timed_search("plan for 405B on 16,384 devices", "llama3-405b", large, 2048, clock),
          timed_search("plan for 405B on 16,384 devices, batch 4,096", "llama3-405b", large, 4096,
                       clock),
          timed_search("plan for 70B on three device types x 256", "llama3-70b", mixed_cluster(3),
                       1536, clock),
          timed_search("plan for 8B on 104 devices", "llama3-8b", *uniform_cluster("H100-SXM", 104),
                       832, clock),
          timed_pricing(clock),
          timed_events(clock),
          timed_schedule(clock)};
}

}  // namespace tenon::planner
