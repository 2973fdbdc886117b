// tenon plan simulate: prices one given plan.
#include <CLI/CLI.hpp>
#include <memory>

#include "tenon/cli/plan_commands.h"
#include "tenon/cli/plan_inputs.h"
#include "tenon/cli/plan_text.h"
#include "tenon/planner/check.h"
#include "tenon/planner/event_simulation.h"

namespace tenon::cli {
namespace {

using namespace tenon::planner;

struct SimulateOptions {
  PlanInputs inputs;
  bool events = false, every_rank = false;
  std::string trace;
};

/// The prediction by events, with its report in `json`.
Status add_events(const SimulateOptions& options, LoadedPlan& loaded, Simulation& answer,
                  Json& json) {
  TraceWriter trace;
  RankSetup setup;
  setup.fold = !options.every_rank;
  EventSimulation events = TENON_TRY(
      simulate_events(loaded.pricer, loaded.plan, setup, options.trace.empty() ? nullptr : &trace));
  answer.prediction = events.prediction;
  json["events"] = {{"step_ms", events.report.step_ms},
                    {"pipeline_ms", events.report.pipeline_ms},
                    {"ops", events.report.events},
                    {"simulated_replicas", events.report.simulated_replicas}};
  if (options.trace.empty()) return {};
  TENON_TRY(trace.write(options.trace));
  json["trace"] = options.trace;
  return {};
}

Result<Answer> run(const SimulateOptions& options, Context& context) {
  if (!options.trace.empty() && !options.events) {
    return context.wrong_usage("--trace without --events", "add --events");
  }
  if (options.every_rank && !options.events) {
    return context.wrong_usage("--every-rank without --events", "add --events");
  }
  LoadedPlan loaded = TENON_TRY(load_plan(options.inputs));
  Simulation answer = planner::simulate(loaded.pricer, loaded.plan);
  Json json = {{"schema", "tenon.plan_simulate/1"},
               {"model", loaded.model},
               {"cluster", loaded.pricer.cluster().name},
               {"valid", answer.valid}};
  if (options.events && answer.prediction) {
    TENON_TRY(add_events(options, loaded, answer, json));
  }
  json["problems"] = to_json(answer.problems);
  json["prediction"] = answer.prediction ? Json(to_json(*answer.prediction)) : Json(nullptr);
  json["plan"] = to_json(loaded.plan);
  std::string text = fmt::format("{} on {}: {}\n", loaded.model, loaded.pricer.cluster().name,
                                 summary(loaded.plan));
  if (answer.prediction) text += text_of(*answer.prediction);
  text += text_of(answer.problems);
  return Answer{std::move(json), std::move(text), answer.valid};
}

Runner declare(CLI::App& app) {
  auto options = std::make_shared<SimulateOptions>();
  add_plan_inputs(app, options->inputs);
  app.add_flag("--events", options->events,
               "run the schedule event by event instead of by formula");
  app.add_flag("--every-rank", options->every_rank,
               "with --events: simulate equal replicas too, each rank on its own");
  app.add_option("--trace", options->trace,
                 "with --events: write the pipeline's trace (Chrome, Perfetto)");
  return [options](Context& context) { return run(*options, context); };
}

Result<Answer> run_check(const PlanInputs& inputs, Context&) {
  LoadedPlan loaded = TENON_TRY(load_plan(inputs));
  const auto problems = planner::check(loaded.pricer, loaded.plan);
  Json json = {{"schema", "tenon.plan_check/1"},
               {"valid", problems.empty()},
               {"problems", to_json(problems)}};
  const std::string text =
      problems.empty() ? "valid: " + summary(loaded.plan) + "\n" : text_of(problems);
  return Answer{std::move(json), text, problems.empty()};
}

Runner declare_check(CLI::App& app) {
  auto inputs = std::make_shared<PlanInputs>();
  add_plan_inputs(app, *inputs);
  return [inputs](Context& context) { return run_check(*inputs, context); };
}

}  // namespace

Command plan_simulate_command() {
  return {
      .name = "simulate",
      .summary = "time and memory of a given plan, which is never changed",
      .examples = {"tenon plan simulate --model llama3-70b --cluster H100-SXM:64 --plan plan.toml",
                   "tenon plan simulate --plan plan.json --events --trace trace.json --json"},
      .declare = declare,
      .children = {}};
}

Command plan_check_command() {
  return {.name = "check",
          .summary = "whether a plan is valid, with all reasons and the least change that helps",
          .examples = {"tenon plan check --model llama3-8b --cluster A100-80G:8 --plan plan.toml"},
          .declare = declare_check,
          .children = {}};
}

}  // namespace tenon::cli
