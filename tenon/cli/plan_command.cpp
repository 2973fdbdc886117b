// tenon plan: searches for the best plan of a model on a cluster.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>

#include "tenon/base/file.h"
#include "tenon/base/object_reader.h"
#include "tenon/cli/common_options.h"
#include "tenon/cli/plan_commands.h"
#include "tenon/cli/plan_inputs.h"
#include "tenon/cli/plan_text.h"
#include "tenon/planner/event_simulation.h"
#include "tenon/planner/fixed_keys.h"
#include "tenon/planner/report_page.h"
#include "tenon/planner/search/evaluator.h"
#include "tenon/planner/search/spares.h"
#include "tenon/planner/search/store.h"

namespace tenon::cli {
namespace {

using namespace tenon::planner;

struct SearchOptions {
  std::string model, cluster, calibration, output, objective = "time", store;
  std::string tokens_per_batch, tokens;
  std::int64_t batch = 0;
  std::vector<std::string> fixed, start_from;
  std::int64_t evaluations = 3'000'000;
  double seconds = 60;
};

// "4M": binary multiples, as batches in the literature are counted.
Result<double> parse_count(const std::string& text, const char* option) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  double scale = 1;
  if (unit == "k" || unit == "K")
    scale = 1024;
  else if (unit == "M")
    scale = 1024.0 * 1024;
  else if (unit == "G")
    scale = 1024.0 * 1024 * 1024;
  else if (unit == "T")
    scale = 1024.0 * 1024 * 1024 * 1024;
  else if (!unit.empty())
    value = -1;
  if (failed != std::errc() || !(value > 0) || !std::isfinite(value)) {
    return invalid("{} is not a number of tokens", text)
        .at(option)
        .with_help("write it as 4194304, 4M or 1.5G (k, M, G are 2^10, 2^20, 2^30)");
  }
  return value * scale;
}

struct Batch {
  std::int64_t samples = 0;
  std::vector<std::string> notes;  // how it was rounded, what is left over
};

// Whole samples. Where the tokens do not give a whole number anyway, the one within half a percent
// that divides best by two, as replicas and micro-batches must divide it.
std::int64_t whole_samples(double exact) {
  const std::int64_t nearest = std::max<std::int64_t>(1, std::llround(exact));
  if (std::abs(exact - static_cast<double>(nearest)) < 1e-9) return nearest;
  const std::int64_t reach = nearest / 200;
  for (std::int64_t step = std::int64_t{1} << 40; step > 1; step /= 2) {
    const std::int64_t multiple = std::llround(exact / static_cast<double>(step)) * step;
    if (multiple > 0 && std::abs(multiple - nearest) <= reach) return multiple;
  }
  return nearest;
}

Result<Batch> batch_of(const SearchOptions& options, const Workload& workload, Context& context) {
  if (options.batch > 0 && !options.tokens_per_batch.empty()) {
    return context.wrong_usage("--batch and --tokens-per-batch name the same thing",
                               "give one of them");
  }
  if (options.batch > 0) return Batch{options.batch, {}};
  const double each = workload.tokens_per_sample;
  if (each <= 0) {
    if (!options.tokens_per_batch.empty())
      return context.wrong_usage("this model has no tokens", "give --batch");
    return Batch{1024, {"a batch of 1024 samples was taken, as none was given"}};
  }
  const bool given = !options.tokens_per_batch.empty();
  const double tokens =
      TENON_TRY(parse_count(given ? options.tokens_per_batch : "4M", "--tokens-per-batch"));
  const std::int64_t samples = whole_samples(tokens / each);
  std::string note;
  if (!given)
    note =
        fmt::format("{} sequences (4M tokens) were taken as the batch, as none was given", samples);
  else if (static_cast<double>(samples) * each != tokens)
    note =
        fmt::format("{:.0f} tokens were rounded to {} sequences of {:.0f}", tokens, samples, each);
  if (note.empty()) return Batch{samples, {}};
  return Batch{samples, {std::move(note)}};
}

Result<std::vector<std::pair<std::string, std::string>>> fixed_of(
    const std::vector<std::string>& given) {
  std::vector<std::pair<std::string, std::string>> fixed;
  std::vector<Error> problems;
  for (const std::string& text : given) {
    const auto at = text.find('=');
    if (at == std::string::npos || at == 0)
      problems.push_back(invalid("{} is not of the form key=value", text).at("--fix"));
    else
      fixed.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  if (!problems.empty()) return all_of(std::move(problems));
  return fixed;
}

Objective objective_named(const std::string& text) {
  const auto& names = objective_names();
  const auto at = std::find(names.begin(), names.end(), text);
  TENON_CHECK(at != names.end(), "the option lets only known objectives through, not {}", text);
  return static_cast<Objective>(at - names.begin());
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A model that came as a graph is not embedded: its file is named again when the plan is used.
Json plan_json(const Plan& plan, const std::optional<ModelSpec>& model, const Cluster& cluster) {
  Json json = to_json(plan);
  if (model) json["model"] = to_json(*model);
  json["cluster"] = to_json(cluster);
  return json;
}

Json candidate_json(const Candidate& c) {
  return {{"plan", to_json(c.plan)},
          {"step_seconds", c.metrics.seconds},
          {"memory_bytes", c.metrics.memory_bytes},
          {"dollars", c.metrics.dollars},
          {"energy_joules", c.metrics.joules}};
}

// Everything that one search has at hand.
struct Searched {
  std::optional<ModelSpec> model;
  Pricer pricer;
  PlanAnswer answer;
  Batch batch;
  std::optional<RunTotals> totals;
};

Json json_of(const Searched& s, const SearchOptions& options) {
  const SearchReport& report = s.answer.report;
  Json json = {{"schema", "tenon.plan_search/1"},
               {"model", s.pricer.workload().name},
               {"cluster", s.pricer.cluster().name},
               {"objective", options.objective},
               {"global_batch", s.batch.samples},
               {"notes", s.batch.notes},
               {"plan", plan_json(s.answer.best.plan, s.model, s.pricer.cluster())},
               {"prediction", to_json(s.answer.best.prediction)},
               {"runners_up", Json::array()},
               {"pareto", Json::array()},
               {"limits", {{"limited_by", report.limited_by}, {"advice", report.advice}}},
               {"search",
                {{"seconds", report.seconds},
                 {"configurations", report.configurations},
                 {"stopped_by", report.stopped_by}}}};
  for (const Predicted& other : s.answer.runners_up) {
    json["runners_up"].push_back({{"plan", to_json(other.plan)},
                                  {"prediction", to_json(other.prediction)},
                                  {"why_lost", other.why_lost}});
  }
  for (const Candidate& c : report.pareto) json["pareto"].push_back(candidate_json(c));
  if (s.totals) {
    json["run"] = {{"steps", s.totals->steps},
                   {"days", s.totals->days},
                   {"days_without_failures", s.totals->days_undisturbed},
                   {"expected_failures", s.totals->failures},
                   {"dollars", s.totals->dollars},
                   {"energy_kwh", s.totals->kwh}};
  }
  return json;
}

std::string headline(const Searched& s) {
  const Plan& plan = s.answer.best.plan;
  const Prediction& p = s.answer.best.prediction;
  std::string text = fmt::format(
      "Train {} on {} ({} devices) with {}-way data, {}-way tensor{} and {}-way "
      "pipeline",
      s.pricer.workload().name, s.pricer.cluster().name, s.pricer.cluster().num_devices(),
      plan.data_parallel, plan.tensor_parallel, plan.sequence_parallel ? " (with sequence)" : "",
      plan.pipeline_parallel);
  if (plan.context_parallel > 1) text += fmt::format(", {}-way context", plan.context_parallel);
  if (plan.expert_parallel > 1) text += fmt::format(", {}-way expert", plan.expert_parallel);
  text += fmt::format(" parallelism; ZeRO stage {}; {} micro-batches of {}", plan.zero_stage,
                      plan.num_micro_batches(), plan.micro_batch);
  if (plan.pipeline_parallel > 1) text += fmt::format(" in the {} schedule", name(plan.schedule));
  if (plan.virtual_stages > 1) text += fmt::format(" with {} chunks a device", plan.virtual_stages);
  text += plan.recompute == Recompute::none
              ? "; nothing is recomputed"
              : fmt::format("; {} recomputation", name(plan.recompute));
  if (plan.offload != Offload::none)
    text += fmt::format("; {} kept on the host", name(plan.offload));
  return text + fmt::format(
                    ". A step is predicted to take {} (one standard deviation {:.0f} %), {:.4g} "
                    "{} a second at {:.1f} % MFU.",
                    seconds_text(p.step_seconds), 100 * p.uncertainty, p.tokens_per_second,
                    p.counts_tokens ? "tokens" : "samples", 100 * p.mfu);
}

std::string text_of_search(const Searched& s) {
  const SearchReport& report = s.answer.report;
  std::string text =
      headline(s) + "\n\n" + summary(s.answer.best.plan) + "\n" + text_of(s.answer.best.prediction);
  if (!s.answer.best.plan.layers_per_stage.empty()) {
    text += fmt::format("layers       {}\n", fmt::join(s.answer.best.plan.layers_per_stage, " "));
  }
  for (const std::string& note : s.batch.notes) text += "note         " + note + "\n";
  text += "limited by   " + report.limited_by + "\nwould help   " + report.advice + "\n";
  if (s.totals) {
    text += fmt::format(
        "whole run    {:.0f} steps, {:.2f} days ({:.2f} without failures), {:.0f} dollars, {:.0f} "
        "kWh\n",
        s.totals->steps, s.totals->days, s.totals->days_undisturbed, s.totals->dollars,
        s.totals->kwh);
  }
  text += "\nplans that lost\n";
  for (const Predicted& other : s.answer.runners_up) {
    text += fmt::format("  {:<76} {:>9}  {:>9}\n      {}\n", summary(other.plan),
                        seconds_text(other.prediction.step_seconds),
                        bytes_text(other.prediction.memory.total()), other.why_lost);
  }
  for (const Candidate& c : report.pareto) {
    if (&c == report.pareto.data()) text += "\nPareto front: s a step, GiB, dollars, kJ\n";
    text += fmt::format("  {:<76} {:>9.3f} {:>7.1f} {:>9.4f} {:>9.0f}\n", summary(c.plan),
                        c.metrics.seconds, c.metrics.memory_bytes / (1 << 30), c.metrics.dollars,
                        c.metrics.joules / 1e3);
  }
  return text + fmt::format("\n{} configurations in {:.2f} s ({})\n", report.configurations,
                            report.seconds, report.stopped_by);
}

Status write_files(Searched& s, const SearchOptions& options, const Json& json) {
  const std::filesystem::path folder = options.output;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return io_error("cannot make the folder {}: {}", options.output, failed.message());
  TENON_TRY(write_file_atomic(folder / "plan.json", json.dump(2) + "\n"));
  TraceWriter trace;
  TENON_TRY(simulate_events(s.pricer, s.answer.best.plan, {}, &trace));
  TENON_TRY(trace.write(folder / "timeline.json"));
  return write_file_atomic(folder / "report.html",
                           TENON_TRY(report_page(s.pricer, s.answer, headline(s))));
}

Result<SearchRequest> request_of(const SearchOptions& options, const Batch& batch,
                                 std::uint64_t seed) {
  SearchRequest request;
  request.global_batch = batch.samples;
  request.objective = objective_named(options.objective);
  request.fixed = TENON_TRY(fixed_of(options.fixed));
  request.max_evaluations = options.evaluations;
  request.max_seconds = options.seconds;
  request.seed = seed;
  request.clock = steady_seconds;
  for (const std::string& path : options.start_from) {
    request.start_from.push_back(TENON_TRY(parse_plan(TENON_TRY(read_file(path)), path)).plan);
  }
  return request;
}

/// Refuses fixed keys that cannot be, and takes a format that the devices have where none is fixed.
Status settle_fixed_keys(const Workload& workload, const Cluster& cluster, SearchRequest& request,
                         std::vector<std::string>& notes) {
  std::vector<Error> errors;
  for (const Problem& p :
       fixed_key_problems(workload, cluster, request.fixed, request.global_batch)) {
    errors.push_back(invalid("{}", p.message).at("--fix").with_help(p.help));
  }
  if (!errors.empty()) return all_of(std::move(errors));
  const Precision usual = usual_precision(cluster);
  for (const auto& [key, value] : request.fixed) {
    if (key == "precision") return {};
  }
  if (usual == Precision::bf16) return {};
  request.fixed.emplace_back("precision", std::string(name(usual)));
  notes.push_back(fmt::format("precision {}: not all devices have bf16", name(usual)));
  return {};
}

Result<Answer> run(const SearchOptions& options, Context& context) {
  if (options.model.empty() || options.cluster.empty()) {
    return context.wrong_usage(
        "tenon plan needs a model and a cluster",
        "add --model and --cluster, or name one of its commands (tenon plan --help)");
  }
  const std::filesystem::path path(options.model);
  const bool graph =
      std::filesystem::exists(path) && path.extension() != ".toml" && path.extension() != ".json";
  std::optional<ModelSpec> model;
  if (!graph) model = TENON_TRY(load_model(options.model));
  Cluster cluster = TENON_TRY(load_cluster(options.cluster));
  Pricer::Calibrations calibrations;
  if (!options.calibration.empty())
    calibrations.push_back(TENON_TRY(load_calibration(options.calibration)));
  const Workload workload = graph ? TENON_TRY(load_workload(options.model)) : workload_of(*model);
  Batch batch = TENON_TRY(batch_of(options, workload, context));
  SearchRequest request = TENON_TRY(request_of(options, batch, context.options.seed));
  TENON_TRY(settle_fixed_keys(workload, cluster, request, batch.notes));
  const std::string family = model ? std::string(name(model->kind)) : path.filename().string();
  if (!options.store.empty()) TENON_TRY(recall(options.store, family, request.start_from));
  SparedSearch found = TENON_TRY(search_with_spares(workload, cluster, calibrations, request));
  if (found.spare > 0) {
    batch.notes.push_back(
        fmt::format("{} of the {} devices are left over: their number divides badly", found.spare,
                    cluster.num_devices()));
  }
  PlanAnswer answer = answer_of(found.pricer, std::move(found.report));
  if (!options.store.empty()) TENON_TRY(remember(options.store, family, answer.best.plan));
  Searched searched{
      std::move(model), std::move(found.pricer), std::move(answer), std::move(batch), {}};
  if (!options.tokens.empty()) {
    const double units = TENON_TRY(parse_count(options.tokens, "--tokens"));
    const Predicted& best = searched.answer.best;
    const Price price = searched.pricer.price(best.plan);
    searched.totals = run_totals(searched.pricer, best.plan, best.prediction.step_seconds,
                                 metrics_of(searched.pricer, best.plan, price), units);
  }
  Json json = json_of(searched, options);
  if (!options.output.empty()) TENON_TRY(write_files(searched, options, json));
  return Answer{std::move(json), text_of_search(searched)};
}

Runner declare(CLI::App& app) {
  auto options = std::make_shared<SearchOptions>();
  app.add_option("--model", options->model,
                 "a preset, a Hugging Face config.json, a TOML, or an ONNX or Tenon file");
  app.add_option("--cluster", options->cluster, "a TOML, or a device and a count (H100-SXM:64)");
  app.add_option("-o,--output-dir", options->output,
                 "folder for plan.json, timeline.json and report.html");
  app.add_option("--batch", options->batch, "samples of a step")->check(CLI::PositiveNumber);
  app.add_option("--tokens-per-batch", options->tokens_per_batch,
                 "tokens of a step, rounded to whole sequences (4M = 4 x 2^20)");
  app.add_option("--tokens", options->tokens, "tokens of the whole run: its days, cost and energy");
  app.add_option("--fix", options->fixed, "key=value of the plan that must stay so; repeat");
  add_choice(app, "--objective", options->objective, objective_names(), "what to make small");
  app.add_option("--calibration", options->calibration,
                 "a calibration's name or file; default: the device's shipped one");
  app.add_option("--evaluations", options->evaluations, "at most so many configurations are priced")
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", options->seconds, "stop after so long with the best so far")
      ->check(CLI::PositiveNumber);
  app.add_option("--start-from", options->start_from,
                 "plans of earlier searches to start from; repeat");
  app.add_option("--store", options->store, "file of earlier results: started from, and added to");
  return [options](Context& context) { return run(*options, context); };
}

}  // namespace

Command plan_command() {
  return {.name = "plan",
          .summary = "how to train a model on a cluster",
          .examples =
              {"tenon plan --model llama3-70b --cluster H100-SXM:64 --tokens-per-batch 4M -o "
               "llama-plan",
               "tenon plan --model mixtral-8x7b --cluster cluster.toml --objective pareto --fix "
               "precision=bf16",
               "tenon plan --model config.json --cluster A100-80G:128 --batch 512 --tokens 300G"},
          .declare = declare,
          .children = {plan_simulate_command(), plan_check_command(), plan_explain_command(),
                       plan_diff_command(), plan_whatif_command(), plan_export_command(),
                       plan_import_command(), plan_model_command(), plan_largest_command(),
                       plan_calibrate_command(), plan_accuracy_command(), plan_schedule_command(),
                       plan_study_command()}};
}

}  // namespace tenon::cli
