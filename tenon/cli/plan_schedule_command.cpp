// tenon plan schedule: one pipeline schedule alone.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <memory>

#include "tenon/base/file.h"
#include "tenon/cli/common_options.h"
#include "tenon/cli/plan_commands.h"
#include "tenon/planner/pipeline/generators.h"
#include "tenon/planner/pipeline/picture.h"
#include "tenon/planner/pipeline/stage_times.h"
#include "tenon/planner/pipeline/timing.h"

namespace tenon::cli {
namespace {

using namespace tenon::planner;

struct ScheduleOptions {
  int stages = 0, micro_batches = 0, virtual_stages = 0;
  std::string times, kind = "1f1b";
  double memory_limit = 0;  // 0: none
  double weight_share = default_weight_share;
};

Json table_json(const Schedule& schedule, const ScheduleTiming& timing) {
  Json table = Json::array();
  for (std::size_t d = 0; d < schedule.devices.size(); ++d) {
    Json row = Json::array();
    for (std::size_t i = 0; i < schedule.devices[d].size(); ++i) {
      const ScheduledOp& op = schedule.devices[d][i];
      const Chunk& chunk = schedule.placement.at(static_cast<int>(d), op.chunk);
      const double start = timing.start[d][i];
      row.push_back({{"op", std::string(name(op.phase))},
                     {"micro_batch", op.micro_batch},
                     {"chunk", op.chunk},
                     {"start_ms", start},
                     {"end_ms", start + duration(chunk.times, op.phase)}});
    }
    table.push_back(std::move(row));
  }
  return table;
}

Answer answer_of(const Schedule& schedule, const ScheduleTiming& timing, const Pipeline& pipeline) {
  const std::vector<double> peaks = peak_activations(schedule, pipeline.weight_share);
  bool fits = true;
  for (std::size_t d = 0; d < peaks.size(); ++d) {
    fits = fits && peaks[d] <= pipeline.limit(static_cast<int>(d)) + 1e-9;
  }
  Json json = {{"schema", "tenon.plan_schedule/1"},
               {"kind", std::string(name(schedule.kind))},
               {"stages", pipeline.devices()},
               {"micro_batches", pipeline.micro_batches},
               {"chunks_per_device", schedule.placement.of_device[0].size()},
               {"bubble_rate", timing.bubble_rate},
               {"makespan_ms", timing.makespan},
               {"wall_ms", timing.wall},
               {"peak_activations", peaks},
               {"weight_share", pipeline.weight_share},
               {"fits", fits},
               {"table", table_json(schedule, timing)}};
  std::string text = fmt::format(
      "{} on {} stages, {} micro-batches: {:.3f} ms an iteration, bubble {:.2f} %, at most {:.2f} "
      "micro-batches kept\n",
      name(schedule.kind), pipeline.devices(), pipeline.micro_batches, timing.makespan,
      100 * timing.bubble_rate, *std::max_element(peaks.begin(), peaks.end()));
  if (!fits)
    text += fmt::format("this is more than the memory limit of {}\n", pipeline.memory_limits[0]);
  text += picture(schedule, timing, peaks);
  return {std::move(json), std::move(text), fits};
}

Result<Answer> run(const ScheduleOptions& options, Context& context) {
  const std::optional<ScheduleKind> kind = schedule_named(options.kind);
  TENON_CHECK(kind.has_value(), "the option lets only known kinds through, not {}", options.kind);
  Pipeline pipeline;
  pipeline.micro_batches = options.micro_batches;
  pipeline.virtual_stages = options.virtual_stages;
  if (options.virtual_stages == 0 && *kind == ScheduleKind::interleaved) {
    return context.wrong_usage("interleaved needs the number of chunks a device holds",
                               "add --virtual-stages 2 or more");
  }
  if (options.memory_limit > 0) pipeline.memory_limits = {options.memory_limit};
  pipeline.weight_share = options.weight_share;
  const std::string text = TENON_TRY(read_file(options.times, std::size_t{1} << 26));
  pipeline.stages = TENON_TRY(parse_stage_times(text, options.times, options.stages));
  const Schedule schedule = TENON_TRY(make_schedule(*kind, pipeline));
  const ScheduleTiming timing = TENON_TRY(simulate_schedule(schedule));
  return answer_of(schedule, timing, pipeline);
}

Runner declare(CLI::App& app) {
  auto options = std::make_shared<ScheduleOptions>();
  app.add_option("--stages", options->stages, "pipeline stages")
      ->required()
      ->check(CLI::Range(1, 4096));
  app.add_option("--micro-batches", options->micro_batches, "micro-batches of one iteration")
      ->required()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--virtual-stages", options->virtual_stages,
                 "chunks a device holds: interleaved; auto chooses 1 or 2 without it")
      ->check(CLI::Range(1, 64));
  app.add_option("--times", options->times,
                 "CSV in ms, one row a stage or one for all: forward, backward_input, "
                 "backward_weight, send")
      ->required();
  app.add_option("--memory-limit", options->memory_limit,
                 "activations a device may keep, in those of one micro-batch on one stage")
      ->check(CLI::PositiveNumber);
  app.add_option(
         "--weight-share", options->weight_share,
         "share of a micro-batch's activations kept from the input gradient to the weight gradient")
      ->check(CLI::Range(0.0, 1.0));
  add_choice(app, "--kind", options->kind, schedule_names(), "the schedule");
  return [options](Context& context) { return run(*options, context); };
}

}  // namespace

Command plan_schedule_command() {
  return {.name = "schedule",
          .summary = "one pipeline schedule alone: bubble, memory, table",
          .examples =
              {"tenon plan schedule --stages 8 --micro-batches 32 --times times.csv --kind zb-h1",
               "tenon plan schedule --stages 8 --micro-batches 32 --times times.csv --kind auto "
               "--memory-limit 16 --json"},
          .declare = declare,
          .children = {}};
}

}  // namespace tenon::cli
