#include "tenon/planner/exports/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tenon/base/object_reader.h"
#include "tenon/planner/check.h"
#include "tenon/planner/exports/engine_internal.h"

namespace tenon::planner {
namespace {

using nlohmann::json;

/// All problems of a plan as one error.
Status valid_structure(const Plan& plan, Pricer& pricer) {
  std::vector<Error> errors;
  for (const Problem& p : check_structure(pricer.workload(), pricer.cluster(), plan)) {
    errors.push_back(invalid("{}", p.message).with_help(p.help));
  }
  if (errors.empty()) return {};
  return all_of(std::move(errors));
}

/// The plan of the keys that were read, with the keys that the caller sets.
Result<Plan> finished_plan(Import& i) {
  std::vector<Error>& problems = i.problems;
  for (const auto& [key, value] : i.request.set) {
    const json parsed = json::parse(value, nullptr, false);
    i.plan[key] = parsed.is_discarded() ? json(value) : parsed;
  }
  set_data_parallel(i);
  if (!i.plan.contains("micro_batch")) {
    i.plan["micro_batch"] = 1;
    i.note("micro_batch", "not in the file: 1 was taken");
  }
  if (!i.plan.contains("global_batch")) {
    i.plan["global_batch"] = std::int64_t{i.count("micro_batch", 1)} * i.count("data_parallel", 1);
    i.note("global_batch", "not in the file: one micro-batch a replica was taken");
  }
  if (!problems.empty()) return all_of(std::move(problems));
  return TENON_TRY(parse_plan(i.plan.dump(), i.where)).plan;
}

}  // namespace

std::string_view name(Engine engine) {
  constexpr std::string_view kNames[] = {"megatron", "deepspeed", "torchtitan"};
  return kNames[static_cast<int>(engine)];
}

const std::vector<std::string>& engine_names() {
  static const std::vector<std::string> names = {"megatron", "deepspeed", "torchtitan"};
  return names;
}

Result<Exported> export_plan(Engine engine, const Plan& plan, Pricer& pricer,
                             const std::optional<ModelSpec>& model) {
  TENON_TRY(valid_structure(plan, pricer));
  Exported out;
  const int blocks = static_cast<int>(pricer.workload().blocks.size());
  Export e{canonical(plan, blocks), pricer, model, blocks, out};
  switch (engine) {
    case Engine::megatron: TENON_TRY(write_megatron(e)); break;
    case Engine::deepspeed: TENON_TRY(write_deepspeed(e)); break;
    case Engine::torchtitan: TENON_TRY(write_torchtitan(e)); break;
  }
  out.written = canonical(e.plan, blocks);
  return out;
}

Result<Imported> import_plan(Engine engine, std::string_view text, std::string_view where,
                             const ImportRequest& request) {
  Import i{request, std::string(where), {}, json::object(), {}, {}, request.devices};
  switch (engine) {
    case Engine::megatron: TENON_TRY(read_megatron(text, i)); break;
    case Engine::deepspeed: TENON_TRY(read_deepspeed(text, i)); break;
    case Engine::torchtitan: TENON_TRY(read_torchtitan(text, i)); break;
  }
  const Plan plan = TENON_TRY(finished_plan(i));
  const int blocks = i.out.model ? static_cast<int>(workload_of(*i.out.model).blocks.size()) : 0;
  i.out.plan = canonical(plan, blocks);
  for (std::string& name : i.settings.unused()) i.out.ignored.push_back(std::move(name));
  return std::move(i.out);
}

bool splits_only_experts(const Plan& plan) {
  if (plan.layers.size() != 1) return false;
  LayerOverride experts;
  experts.match = "experts";
  experts.tensor_parallel = plan.layers.front().tensor_parallel;
  return experts.tensor_parallel && plan.layers.front() == experts;
}

void lose_what_no_engine_has(Export& e, bool keeps_stages, bool keeps_expert_tensor) {
  Plan& p = e.plan;
  if (!p.layers.empty() && !(keeps_expert_tensor && splits_only_experts(p))) {
    e.lose("layers",
           "the engine has one choice for all layers; the plan's own choices are written");
    p.layers.clear();
  }
  if (!p.recompute_per_stage.empty()) {
    p.recompute = *std::max_element(p.recompute_per_stage.begin(), p.recompute_per_stage.end());
    p.recompute_per_stage.clear();
    e.lose("recompute_per_stage",
           fmt::format("one choice holds for all stages; written as {}, which fits in memory "
                       "wherever the plan does",
                       name(p.recompute)));
    e.lose("recompute", "see recompute_per_stage");
  }
  if (!keeps_stages && !p.layers_per_stage.empty()) {
    e.lose("layers_per_stage", "the engine divides the layers itself");
    p.layers_per_stage.clear();
  }
}

void lose_placement(Export& e, std::string_view engine) {
  if (e.plan.placement.empty()) return;
  e.plan.placement.clear();
  e.lose("placement",
         fmt::format("{} places tensor, context, data, pipeline, the fastest first", engine));
}

Nodes nodes_of(Export& e) {
  const Cluster& cluster = e.pricer.cluster();
  const NodeGroup& first = cluster.groups.front();
  std::int64_t nodes = 0;
  for (const NodeGroup& group : cluster.groups) {
    nodes += group.nodes;
    if (group.count != first.count) {
      e.note("cluster", fmt::format("nodes of {} and of {} devices: start each with its own "
                                    "GPUS_PER_NODE",
                                    first.count, group.count));
    }
  }
  return {nodes, first.count};
}

std::string collective_line(const Plan& plan) {
  if (plan.collective == CollectiveAlgorithm::ring) return "export NCCL_ALGO=Ring\n";
  if (plan.collective == CollectiveAlgorithm::tree) return "export NCCL_ALGO=Tree\n";
  return {};
}

std::string argument_lines(const Settings& settings, std::string_view dashes) {
  std::string text;
  for (const Setting& setting : settings.all()) {
    text += fmt::format("    {}{}", dashes, setting.name);
    for (const std::string& value : setting.values) {
      const bool plain = value.find_first_of("|*[]() $;&'\"") == std::string::npos;
      text += plain ? " " + value : " \"" + value + "\"";
    }
    text += "\n";
  }
  return text;
}

namespace {

/// Options of torchrun, deepspeed and their like that say how many devices there are.
void read_launcher(const std::vector<ShellWord>& words, Import& i) {
  std::int64_t each = 0, nodes = 0;
  for (std::size_t at = 0; at < words.size(); ++at) {
    std::string option = words[at].text, value;
    const auto equal = option.find('=');
    if (equal != std::string::npos) {
      value = option.substr(equal + 1), option.resize(equal);
    } else if (at + 1 < words.size()) {
      value = words[at + 1].text;
    }
    std::replace(option.begin(), option.end(), '-', '_');
    std::int64_t count = 0;
    const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), count);
    if (failed != std::errc() || end != value.data() + value.size() || count < 1) continue;
    if (option == "__nproc_per_node" || option == "__num_gpus") each = count;
    if (option == "__nnodes" || option == "__num_nodes") nodes = count;
  }
  if (i.devices == 0 && each > 0) i.devices = each * std::max<std::int64_t>(1, nodes);
}

bool is_option(const std::string& word) {
  if (!word.starts_with("-") || word.size() < 2) return false;
  return std::isdigit(static_cast<unsigned char>(word[1])) == 0 && word[1] != '.';  // not "-1"
}

/// One option at `at` and its values; moves `at` behind them.
void read_option(const std::vector<ShellWord>& words, std::size_t& at, const KnownNames& known,
                 Import& i, std::string (*normal)(std::string)) {
  std::string option = words[at].text;
  const std::string where = fmt::format("{}, line {}", i.where, words[at].line);
  ++at;
  std::vector<std::string> values;
  const auto equal = option.find('=');
  if (equal != std::string::npos) {
    values.push_back(option.substr(equal + 1)), option.resize(equal);
  }
  const std::string name = normal(option.substr(option.find_first_not_of('-')));
  const char takes = known.values_of(name);
  if (equal == std::string::npos && takes != '0') {
    // A subcommand of torchtitan's, behind the options.
    const auto subcommand = [](const std::string& word) {
      return word.starts_with("activation-checkpoint:");
    };
    while (at < words.size() && !is_option(words[at].text) && !subcommand(words[at].text)) {
      values.push_back(words[at++].text);
      if (takes == '1') break;
    }
  }
  if (takes == '\0') {
    if (i.request.ignore_unknown) return i.out.ignored.push_back(name);
    return i.problems.push_back(known.unknown(name, where));
  }
  if (takes == '1' && values.empty()) {
    return i.problems.push_back(invalid("{} has no value", option).at(where));
  }
  i.settings.set(name, std::move(values), where);
}

}  // namespace

void read_arguments(const LaunchCommand& launch, const KnownNames& known, Import& i,
                    std::string (*normal)(std::string name)) {
  read_launcher(launch.launcher, i);
  const auto& words = launch.arguments;
  for (std::size_t at = 0; at < words.size();) {
    if (is_option(words[at].text)) {
      read_option(words, at, known, i, normal);
      continue;
    }
    const std::string& word = words[at].text;
    // A redirection ends what the command is given; "$@" is whatever the caller adds.
    if (word.starts_with(">") || word == "2>" || word.starts_with("2>")) break;
    if (!word.starts_with("$") && !word.empty()) {
      i.settings.set(word, std::vector<std::string>{},
                     fmt::format("{}, line {}", i.where, words[at].line));
    }
    ++at;
  }
}

void set_data_parallel(Import& i) {
  if (i.plan.contains("data_parallel")) return;
  std::int64_t each = 1;
  for (const char* key : {"tensor_parallel", "pipeline_parallel", "context_parallel"}) {
    each *= i.count(key, 1);
  }
  if (i.devices == 0) {
    i.problems.push_back(invalid("the file does not say how many devices there are")
                             .at(i.where)
                             .with_help("add --devices N, --cluster C, or --set data_parallel=N"));
  } else if (i.devices % each != 0) {
    i.problems.push_back(
        invalid("{} devices do not divide by tensor x pipeline x context = {}", i.devices, each)
            .at(i.where)
            .with_help(fmt::format("give a multiple of {} devices", each)));
  } else {
    i.plan["data_parallel"] = i.devices / each;
  }
}

}  // namespace tenon::planner
