// tenon plan study: experiments with the search, and the training of its move policy.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <memory>
#include <numeric>

#include "tenon/base/file.h"
#include "tenon/base/html.h"
#include "tenon/cli/common_options.h"
#include "tenon/cli/plan_commands.h"
#include "tenon/planner/search/expert_plans.h"
#include "tenon/planner/search/policy_training.h"
#include "tenon/planner/search/study.h"

namespace tenon::cli {
namespace {

using namespace tenon::planner;

struct StudyOptions {
  std::string what = "small", output;
  int count = 0;
};

/// Processor seconds of this program, which runs on one core: what else the machine does counts
/// not.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Result<Answer> small(const StudyOptions& options, std::uint64_t seed) {
  const auto results = study_small_problems(seed, options.count > 0 ? options.count : 200);
  int within[2] = {0, 0}, total[2] = {0, 0};
  double worst = 0;
  for (const SmallProblemResult& r : results) {
    ++total[r.mixed];
    within[r.mixed] += r.regret() <= 0.01;
    worst = std::max(worst, r.regret());
  }
  Json json = {{"schema", "tenon.plan_study/1"},
               {"what", "small"},
               {"problems", results.size()},
               {"within_one_percent", within[0] + within[1]},
               {"worst_regret", worst}};
  return Answer{std::move(json),
                fmt::format("within 1 % of exhaustive search: {} of {} with one device type, {} of "
                            "{} mixed; worst regret {:.2f} %\n",
                            within[0], total[0], within[1], total[1], 100 * worst),
                within[0] + within[1] == total[0] + total[1]};
}

void add_methods(const char* label, std::vector<MethodResult> results, Json& json,
                 std::string& text) {
  text += fmt::format("{}: configurations to within 1 % of the best known plan\n", label);
  for (MethodResult& r : results) {
    if (r.evaluations.empty()) continue;
    std::sort(r.evaluations.begin(), r.evaluations.end());
    const double n = static_cast<double>(r.evaluations.size());
    const double mean = std::accumulate(r.evaluations.begin(), r.evaluations.end(), 0.0) / n;
    const double median = r.evaluations[r.evaluations.size() / 2];
    json["methods"].push_back({{"problems", label},
                               {"method", r.method},
                               {"missed", r.missed},
                               {"count", r.evaluations.size()},
                               {"median", median},
                               {"mean", mean}});
    text += fmt::format("  {:<20} missed {:>2} of {:>2}   median {:>7.0f}   mean {:>7.0f}\n",
                        r.method, r.missed, r.evaluations.size(), median, mean);
  }
}

Result<Answer> ablation(const StudyOptions& options, std::uint64_t seed) {
  const int count = options.count > 0 ? options.count : 50;
  constexpr std::int64_t cap = 20'000;
  Json json = {{"schema", "tenon.plan_study/1"}, {"what", "ablation"}, {"methods", Json::array()}};
  std::string text;
  add_methods("all mixed problems", study_methods(seed, count, cap, false), json, text);
  add_methods("those that random or hierarchical search misses",
              study_methods(seed, count, cap, true), json, text);
  return Answer{std::move(json), std::move(text)};
}

/// Charts as a file of their own: colours and letters that a page would bring.
std::string standalone_svg(const std::string& charts) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"840\">\n"
         "<style>svg{--c0:#1f6fb2;background:#fff} text{font:12px sans-serif;fill:#333} "
         ".grid{stroke:#ddd} .axis{stroke:#888} .soft{fill:#777}</style>\n" +
         charts + "</svg>\n";
}

Result<Answer> growth(const StudyOptions& options) {
  const auto points = study_growth(processor_seconds);
  Json json = {{"schema", "tenon.plan_study/1"}, {"what", "growth"}, {"points", Json::array()}};
  std::string text;
  HtmlPage page("Growth of the search");
  std::string pictures;
  for (const char* axis : {"devices", "layers", "device types"}) {
    Series series{axis, {}, {}};
    for (const GrowthPoint& p : points) {
      if (p.axis != axis) continue;
      series.x.push_back(p.size), series.y.push_back(p.seconds);
      json["points"].push_back({{"axis", p.axis},
                                {"size", p.size},
                                {"seconds", p.seconds},
                                {"configurations", p.configurations}});
      text += fmt::format("{:<13} {:>6.0f}   {:>7.3f} s   {:>8} configurations\n", p.axis, p.size,
                          p.seconds, p.configurations);
    }
    const ChartOptions chart = {
        .title = std::string("seconds by ") + axis, .x_label = axis, .y_label = "seconds"};
    page.raw(line_chart({series}, chart));
    pictures += fmt::format(
        "<g transform=\"translate(0,{})\">\n{}</g>\n",
        chart.height * (json["points"].size() > 5) + chart.height * (json["points"].size() > 10),
        line_chart({series}, chart));
  }
  const bool svg = options.output.ends_with(".svg");
  if (!options.output.empty())
    TENON_TRY(write_file_atomic(options.output, svg ? standalone_svg(pictures) : page.text()));
  return Answer{std::move(json), std::move(text)};
}

Result<Answer> speed() {
  Json json = {{"schema", "tenon.plan_study/1"}, {"what", "speed"}, {"results", Json::array()}};
  std::string text;
  for (const SpeedResult& r : study_speed(processor_seconds)) {
    json["results"].push_back({{"what", r.what},
                               {"seconds", r.seconds},
                               {"count", r.count},
                               {"unit", r.unit},
                               {"per_second", r.count / r.seconds}});
    text += fmt::format("{:<46} {:>7.3f} s   {:>9.0f} {}, {:.0f} a second\n", r.what, r.seconds,
                        r.count, r.unit, r.count / r.seconds);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double peak = 1024.0 * static_cast<double>(usage.ru_maxrss);
  json["peak_bytes"] = peak;
  text += fmt::format("memory at its peak: {:.2f} GB\n", peak / 1e9);
  return Answer{std::move(json), std::move(text)};
}

Result<Answer> experts() {
  Json json = {{"schema", "tenon.plan_study/1"}, {"what", "experts"}, {"plans", Json::array()}};
  std::string text = fmt::format("{:<34} {:>9} {:>9} {:>12} {:>8}   {}\n", "expert's plan",
                                 "measured", "predicted", "rank", "behind", "full space");
  bool all_near = true;
  for (const ExpertPlan& e : TENON_TRY(compare_with_experts())) {
    all_near = all_near && e.rank <= 5;
    json["plans"].push_back({{"expert", e.label},
                             {"measured_seconds", e.measured_seconds},
                             {"predicted_seconds", e.predicted_seconds},
                             {"rank", e.rank},
                             {"plans_in_space", e.plans},
                             {"behind_best", e.behind_best},
                             {"gain", e.gain},
                             {"gain_sigma", e.gain_sigma},
                             {"best", to_json(e.best)}});
    text += fmt::format(
        "{:<34} {:>7.2f} s {:>7.2f} s {:>5} of {:<4} {:>6.1f} %   {:+.0f} % +- {:.0f} %, {}\n",
        e.label, e.measured_seconds, e.predicted_seconds, e.rank, e.plans, 100 * e.behind_best,
        100 * e.gain, 100 * e.gain_sigma, summary(e.best));
  }
  return Answer{std::move(json), std::move(text), all_near};
}

Result<Answer> policy(const StudyOptions& options, std::uint64_t seed) {
  PolicyTraining training;
  if (options.count > 0) training.episodes = options.count;
  training.seed = seed + 1;
  const PolicyTrainingReport report = train_policy(training);
  if (!options.output.empty())
    TENON_TRY(write_file_atomic(options.output, report.policy.to_text()));
  Json json = {{"schema", "tenon.plan_study/1"},
               {"what", "policy"},
               {"episodes", training.episodes},
               {"rewards", report.rewards}};
  return Answer{std::move(json),
                fmt::format("mean reward of an episode, by tenths of the training: {:.3f}\n",
                            fmt::join(report.rewards, " "))};
}

Result<Answer> run(const StudyOptions& options, Context& context) {
  const std::uint64_t seed = context.options.seed;
  if (options.what == "ablation") return ablation(options, seed);
  if (options.what == "growth") return growth(options);
  if (options.what == "speed") return speed();
  if (options.what == "experts") return experts();
  if (options.what == "policy") return policy(options, seed);
  return small(options, seed);
}

Runner declare(CLI::App& app) {
  auto options = std::make_shared<StudyOptions>();
  add_choice(app, "--what", options->what,
             {"small", "ablation", "experts", "growth", "speed", "policy"},
             "small problems against exhaustive search; parts of the search; published plans of "
             "experts; growth; speed at large sizes; training of the move policy");
  app.add_option("--count", options->count, "problems or episodes")->check(CLI::PositiveNumber);
  app.add_option("-o,--output", options->output,
                 "growth: an HTML page or an SVG picture; policy: the trained weights");
  return [options](Context& context) { return run(*options, context); };
}

}  // namespace

Command plan_study_command() {
  return {
      .name = "study",
      .summary = "experiments with the search itself, and the training of its policy",
      .examples = {"tenon plan study --what small", "tenon plan study --what ablation --seed 99",
                   "tenon plan study --what policy -o data/planner/move_policy.json"},
      .declare = declare,
      .children = {}};
}

}  // namespace tenon::cli
