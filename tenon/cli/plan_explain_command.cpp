// tenon plan explain, diff and whatif: what a plan is made of, and what would change it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>

#include "tenon/base/file.h"
#include "tenon/cli/plan_commands.h"
#include "tenon/cli/plan_inputs.h"
#include "tenon/cli/plan_text.h"
#include "tenon/planner/check.h"
#include "tenon/planner/event_simulation.h"
#include "tenon/planner/search/evaluator.h"
#include "tenon/planner/search/explain.h"
#include "tenon/planner/search/reasons.h"
#include "tenon/planner/search/spares.h"

namespace tenon::cli {
namespace {

using namespace tenon::planner;

Json changes_json(const std::vector<KeyChange>& changes) {
  Json list = Json::array();
  for (const KeyChange& c : changes)
    list.push_back({{"key", c.key}, {"before", c.before}, {"after", c.after}});
  return list;
}

std::string changes_text(const std::vector<KeyChange>& changes) {
  std::string text;
  for (const KeyChange& c : changes)
    text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", c.key, c.before, c.after);
  return text;
}

Candidate candidate_of(Pricer& pricer, const Plan& plan) {
  Candidate candidate{plan, pricer.price(plan), {}, 0};
  candidate.metrics = metrics_of(pricer, plan, candidate.price);
  candidate.value = candidate.metrics.seconds;
  return candidate;
}

Result<Answer> run_explain(const PlanInputs& inputs, Context&) {
  LoadedPlan loaded = TENON_TRY(load_plan(inputs));
  const Simulation simulation = planner::simulate(loaded.pricer, loaded.plan);
  Json json = {{"schema", "tenon.plan_explain/1"},
               {"valid", simulation.valid},
               {"problems", to_json(simulation.problems)}};
  std::string text = fmt::format("{} on {}: {}\n", loaded.model, loaded.pricer.cluster().name,
                                 summary(loaded.plan));
  text += text_of(simulation.problems);
  json["prediction"] =
      simulation.prediction ? Json(to_json(*simulation.prediction)) : Json(nullptr);
  json["changes"] = Json::array();
  if (!simulation.prediction) return Answer{std::move(json), std::move(text), simulation.valid};
  text += text_of(*simulation.prediction);
  SearchRequest request;
  request.global_batch = loaded.plan.global_batch;
  Evaluator evaluator(loaded.pricer, request);
  const Candidate candidate = candidate_of(loaded.pricer, loaded.plan);
  const std::string limit = limited_by(candidate),
                    help = advice(
                        evaluator,
                        *search_space(loaded.pricer.workload(), loaded.pricer.cluster(), request),
                        candidate);
  json["limits"] = {{"limited_by", limit}, {"advice", help}};
  text += "limited by   " + limit + "\nwould help   " + help + "\n\none change at a time\n";
  for (const Alternative& a : alternatives(loaded.pricer, loaded.plan)) {
    json["changes"].push_back({{"move", a.move},
                               {"keys", changes_json(a.changes)},
                               {"step_seconds", a.price.step_seconds},
                               {"relative_change", a.slower},
                               {"fits", a.price.fits()}});
    text += fmt::format("  {:>+7.1f} %  {}{}\n", 100 * a.slower, changes_text(a.changes),
                        a.price.fits() ? "" : "   (does not fit in memory)");
  }
  return Answer{std::move(json), std::move(text), simulation.valid};
}

Runner declare_explain(CLI::App& app) {
  auto inputs = std::make_shared<PlanInputs>();
  add_plan_inputs(app, *inputs);
  return [inputs](Context& context) { return run_explain(*inputs, context); };
}

struct DiffOptions {
  std::string a, b, model, cluster, calibration;
};

Result<Answer> run_diff(const DiffOptions& options, Context&) {
  LoadedPlan a =
      TENON_TRY(load_plan({options.model, options.cluster, options.a, options.calibration}));
  LoadedPlan b =
      TENON_TRY(load_plan({options.model, options.cluster, options.b, options.calibration}));
  const std::vector<KeyChange> changes = differences(a.plan, b.plan);
  const Simulation first = planner::simulate(a.pricer, a.plan),
                   second = planner::simulate(b.pricer, b.plan);
  Json json = {{"schema", "tenon.plan_diff/1"},
               {"equal", changes.empty()},
               {"changes", changes_json(changes)}};
  std::string text = changes.empty() ? "the plans are the same\n" : "";
  for (const KeyChange& c : changes)
    text += fmt::format("{:<24} {:>16} {:>16}\n", c.key, c.before, c.after);
  json["predictions"] =
      Json::array({first.prediction ? Json(to_json(*first.prediction)) : Json(nullptr),
                   second.prediction ? Json(to_json(*second.prediction)) : Json(nullptr)});
  if (first.prediction && second.prediction) {
    const auto row = [&](const char* what, double x, double y) {
      text += fmt::format("{:<24} {:>16} {:>16}\n", what, seconds_text(x), seconds_text(y));
    };
    const Prediction &p = *first.prediction, &q = *second.prediction;
    row("step", p.step_seconds, q.step_seconds);
    row("  compute", p.compute_seconds, q.compute_seconds);
    row("  communication", p.exposed_communication_seconds, q.exposed_communication_seconds);
    row("  bubble", p.bubble_seconds, q.bubble_seconds);
    row("  optimizer", p.optimizer_seconds, q.optimizer_seconds);
    row("  other", p.other_seconds, q.other_seconds);
    text += fmt::format("{:<24} {:>16} {:>16}\n", "memory", bytes_text(p.memory.total()),
                        bytes_text(q.memory.total()));
  }
  return Answer{std::move(json), std::move(text), changes.empty()};
}

Runner declare_diff(CLI::App& app) {
  auto options = std::make_shared<DiffOptions>();
  app.add_option("a", options->a, "a plan")->required();
  app.add_option("b", options->b, "another plan")->required();
  app.add_option("--model", options->model, "default: each plan's own");
  app.add_option("--cluster", options->cluster, "default: each plan's own");
  app.add_option("--calibration", options->calibration, "a calibration's name or file");
  return [options](Context& context) { return run_diff(*options, context); };
}

struct WhatIfOptions {
  PlanInputs inputs;
  ClusterChange change;
  double memory_gib = 0;
  std::int64_t lose = 0, gain = 0, slow_rank = -1;
  double slow_factor = 2;
  bool keep = false;
};

// A slow rank changes no plan key: the same plan is simulated on every rank.
Result<Answer> slow_rank(const WhatIfOptions& options, LoadedPlan& loaded) {
  const EventSimulation before = TENON_TRY(simulate_events(loaded.pricer, loaded.plan));
  RankSetup setup;
  setup.slow_ranks = {{options.slow_rank, options.slow_factor}};
  const EventSimulation after = TENON_TRY(simulate_events(loaded.pricer, loaded.plan, setup));
  const double slower = after.prediction.step_seconds / before.prediction.step_seconds - 1;
  Json json = {{"schema", "tenon.plan_whatif/1"},
               {"before", {{"prediction", to_json(before.prediction)}}},
               {"after", {{"prediction", to_json(after.prediction)}}},
               {"relative_change", slower}};
  return Answer{
      std::move(json),
      fmt::format("rank {} taking {} times as long: a step takes {} instead of {} ({:+.1f} %)\n",
                  options.slow_rank, options.slow_factor,
                  seconds_text(after.prediction.step_seconds),
                  seconds_text(before.prediction.step_seconds), 100 * slower)};
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string line_of(const char* what, const Plan& plan, const Simulation& simulation) {
  if (!simulation.prediction)
    return fmt::format("{:<14} {}  cannot run: {}\n", what, summary(plan),
                       simulation.problems.front().message);
  return fmt::format(
      "{:<14} {}  {}{}\n", what, summary(plan), seconds_text(simulation.prediction->step_seconds),
      simulation.valid ? "" : "  (not valid: " + simulation.problems.front().message + ")");
}

Result<Answer> run_whatif(const WhatIfOptions& options, Context& context) {
  LoadedPlan loaded = TENON_TRY(load_plan(options.inputs));
  if (options.slow_rank >= 0) return slow_rank(options, loaded);
  ClusterChange change = options.change;
  change.memory_bytes = options.memory_gib * (1 << 30);
  change.lost_devices = options.lose - options.gain;
  const Cluster cluster = TENON_TRY(changed(loaded.pricer.cluster(), change));
  if (to_json(cluster) == to_json(loaded.pricer.cluster())) {
    return context.wrong_usage(
        "nothing is changed",
        "add --node-link, --cluster-link, --memory, --lose, --gain or --slow-rank");
  }
  // Each device its own calibration, unless one was given for all.
  Pricer::Calibrations calibrations;
  if (!options.inputs.calibration.empty()) calibrations = {loaded.pricer.calibration()};
  Pricer after(loaded.pricer.workload(), cluster, calibrations);
  const Simulation before = planner::simulate(loaded.pricer, loaded.plan),
                   same = planner::simulate(after, loaded.plan);
  Json json = {
      {"schema", "tenon.plan_whatif/1"},
      {"before",
       {{"plan", to_json(loaded.plan)},
        {"prediction", before.prediction ? Json(to_json(*before.prediction)) : Json(nullptr)}}},
      {"same_plan",
       {{"valid", same.valid},
        {"problems", to_json(same.problems)},
        {"prediction", same.prediction ? Json(to_json(*same.prediction)) : Json(nullptr)}}}};
  std::string text = line_of("now", loaded.plan, before) + line_of("then, same", loaded.plan, same);
  if (!options.keep) {
    SearchRequest request;
    request.global_batch = loaded.plan.global_batch;
    request.start_from = {loaded.plan};
    request.clock = steady_seconds;
    SparedSearch found =
        TENON_TRY(search_with_spares(after.workload(), cluster, calibrations, request));
    const Plan& best = found.report.best.plan;
    const Simulation replanned = planner::simulate(found.pricer, best);
    const double moving = replan_seconds(found.pricer, loaded.plan, best);
    const double restart = std::min(moving, 60 * cluster.failures.restart_minutes);
    json["replanned"] = {
        {"plan", to_json(best)},
        {"prediction", replanned.prediction ? Json(to_json(*replanned.prediction)) : Json(nullptr)},
        {"spare_devices", found.spare},
        {"move_seconds", moving},
        {"fetch_seconds", moving - restart},
        {"restart_seconds", restart},
        {"search_seconds", found.report.seconds}};
    text += line_of("then, planned", best, replanned);
    if (found.spare > 0) text += fmt::format("{} devices are left over\n", found.spare);
    text +=
        fmt::format("going over to it takes about {}: {} to fetch states, {} to restart\n",
                    seconds_text(moving), seconds_text(moving - restart), seconds_text(restart));
  }
  return Answer{std::move(json), std::move(text)};
}

Runner declare_whatif(CLI::App& app) {
  auto options = std::make_shared<WhatIfOptions>();
  add_plan_inputs(app, options->inputs);
  app.add_option("--node-link", options->change.node_link, "factor of the bandwidth inside a node")
      ->check(CLI::PositiveNumber);
  app.add_option("--cluster-link", options->change.cluster_link,
                 "factor of the bandwidth between nodes")
      ->check(CLI::PositiveNumber);
  app.add_option("--memory", options->memory_gib, "GiB of each device")->check(CLI::PositiveNumber);
  app.add_option("--lose", options->lose, "so many devices fewer")->check(CLI::PositiveNumber);
  app.add_option("--gain", options->gain, "so many devices more, in whole nodes")
      ->check(CLI::PositiveNumber);
  app.add_option("--slow-rank", options->slow_rank, "a rank that is slow")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--factor", options->slow_factor, "how many times as long the slow rank takes")
      ->check(CLI::PositiveNumber);
  app.add_flag("--keep-plan", options->keep, "price the same plan only, do not search again");
  return [options](Context& context) { return run_whatif(*options, context); };
}

}  // namespace

Command plan_explain_command() {
  return {.name = "explain",
          .summary = "where a plan's step goes, and what each single change would do",
          .examples = {"tenon plan explain --plan plan.json"},
          .declare = declare_explain,
          .children = {}};
}

Command plan_diff_command() {
  return {.name = "diff",
          .summary = "what differs between two plans, and in what is predicted of them",
          .examples = {"tenon plan diff a/plan.json b/plan.json"},
          .declare = declare_diff,
          .children = {}};
}

Command plan_whatif_command() {
  return {
      .name = "whatif",
      .summary = "a plan on a changed cluster: links, memory, fewer or more devices, a slow rank",
      .examples = {"tenon plan whatif --plan plan.json --cluster-link 0.5",
                   "tenon plan whatif --plan plan.json --lose 8",
                   "tenon plan whatif --plan plan.json --slow-rank 3 --factor 1.5"},
      .declare = declare_whatif,
      .children = {}};
}

}  // namespace tenon::cli
