// torchtitan: the arguments of its ConfigManager, the same as TOML, and a schedule where PyTorch
// has none of that name. Names and meanings from torchtitan/config/configs.py (0.3.0); the names of
// the older TOML files are read as well.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tenon/base/object_reader.h"
#include "tenon/planner/exports/engine_internal.h"
#include "tenon/planner/exports/schedule_csv.h"
#include "tenon/planner/stage_layout.h"

namespace tenon::planner {
namespace {

using nlohmann::json;

constexpr CountRow kCounts[] = {{"tensor_parallel", "parallelism.tensor_parallel_degree"},
                                {"pipeline_parallel", "parallelism.pipeline_parallel_degree"},
                                {"context_parallel", "parallelism.context_parallel_degree"},
                                {"expert_parallel", "parallelism.expert_parallel_degree"},
                                {"global_batch", "training.global_batch_size"}};

constexpr ChoiceRow kChoices[] = {
    {"sequence_parallel", "false", "parallelism.no_enable_sequence_parallel"},
    {"sequence_parallel", "false", "parallelism.enable_sequence_parallel=false"},
    {"sequence_parallel", "true", "parallelism.enable_sequence_parallel"},
    {"sequence_parallel", "true", ""},
    {"precision", "bf16", "training.mixed_precision_param=bfloat16"},
    {"precision", "bf16", ""},
    {"precision", "fp8", "training.mixed_precision_param=bfloat16"},  // read by the registration
    {"precision", "fp32", "training.mixed_precision_param=float32"},
    {"recompute", "selective", "activation_checkpoint:selective"},
    {"recompute", "selective", "activation_checkpoint.mode=selective"},
    {"recompute", "selective", ""},
    {"recompute", "none", "activation_checkpoint:none"},
    {"recompute", "none", "activation_checkpoint.mode=none"},
    {"recompute", "full", "activation_checkpoint:full"},
    {"recompute", "full", "activation_checkpoint.mode=full"},
    {"schedule", "1f1b", "parallelism.pipeline_parallel_schedule=1F1B"},
    {"schedule", "1f1b", ""},
    {"schedule", "gpipe", "parallelism.pipeline_parallel_schedule=GPipe"},
    {"schedule", "interleaved", "parallelism.pipeline_parallel_schedule=Interleaved1F1B"},
    {"schedule", "zb-v", "parallelism.pipeline_parallel_schedule=ZBVZeroBubble"},
    {"schedule", "zb-h1", "parallelism.pipeline_parallel_schedule_csv=schedule.zb-h1.csv"},
    {"schedule", "zb-h2", "parallelism.pipeline_parallel_schedule_csv=schedule.zb-h2.csv"},
    {"schedule", "v-half",
     "parallelism.pipeline_parallel_schedule=ZBVZeroBubble "
     "parallelism.pipeline_parallel_schedule_csv=schedule.v-half.csv"},
    {"schedule", "v-min",
     "parallelism.pipeline_parallel_schedule=ZBVZeroBubble "
     "parallelism.pipeline_parallel_schedule_csv=schedule.v-min.csv"},
    {"schedule", "auto", "parallelism.pipeline_parallel_schedule_csv=schedule.auto.csv"},
};

constexpr NearestRow kNearest[] = {
    {"schedule", "dualpipe", "1f1b", "PyTorch has no DualPipe with two copies of the weights"},
    {"precision", "tf32", "fp32", "TF32 is a setting of the library, not of the configuration"},
    {"precision", "fp16", "bf16", "mixed precision is bfloat16 here"},
    {"precision", "int8", "bf16", "there is no int8 training"},
    {"optimizer", "adam_8bit", "adam", "the optimizers are Adam and AdamW"},
    {"optimizer", "adafactor", "adam", "the optimizers are Adam and AdamW"},
    {"optimizer", "momentum", "adam", "the optimizers are Adam and AdamW"},
    {"optimizer", "sgd", "adam", "the optimizers are Adam and AdamW"},
    {"optimizer", "muon", "adam", "Muon is set up in the model's registration"},
    {"offload", "optimizer", "none",
     "enable_cpu_offload moves weights and gradients to the host as well"},
    {"offload", "activations", "none", "activations stay on the device"},
    {"offload", "both", "none", "enable_cpu_offload moves weights and gradients as well"},
    {"gradient_compression", "bf16", "none", "gradients are reduced in float32"},
    {"gradient_compression", "fp8", "none", "gradients are reduced in float32"},
    {"context_method", "all_to_all", "ring", "keys and values go round a ring"},
};

/// A registered configuration whose model has these sizes; `fp8`: its layers compute in float8.
struct Registered {
  std::string_view module, config, preset;
  int layers, hidden, experts, vocab;
  bool fp8;
};
constexpr Registered kRegistered[] = {
    {"llama3", "llama3_8b", "llama3-8b", 32, 4096, 0, 128256, false},
    {"llama3", "llama3_70b", "llama3-70b", 80, 8192, 0, 128256, false},
    {"llama3", "llama3_405b", "llama3-405b", 126, 16384, 0, 128256, true},
    {"deepseek_v3", "deepseek_v3_16b", "deepseek-v2-lite", 27, 2048, 64, 102400, false},
    {"deepseek_v3", "deepseek_v3_671b", "deepseek-v3", 61, 7168, 256, 129280, false},
    {"deepseek_v3", "deepseek_v3_671b_float8", "deepseek-v3", 61, 7168, 256, 129280, true},
    {"qwen3", "qwen3_0_6b", "", 28, 1024, 0, 151936, false},
    {"qwen3", "qwen3_1_7b", "", 28, 2048, 0, 151936, false},
    {"qwen3", "qwen3_14b", "", 40, 5120, 0, 151936, false},
    {"qwen3", "qwen3_32b", "", 64, 5120, 0, 151936, false},
    {"qwen3", "qwen3_30b_a3b", "", 48, 2048, 128, 151936, false}};

/// The configuration of these sizes, one of the plan's precision where there is one.
const Registered* registered(const std::optional<ModelSpec>& model, bool fp8) {
  const Registered* found = nullptr;
  for (const Registered& r : kRegistered) {
    if (!model || r.layers != model->layers || r.hidden != model->hidden ||
        r.experts != model->experts || r.vocab != model->vocab)
      continue;
    if (found == nullptr || r.fp8 == fp8) found = &r;
  }
  return found;
}

/// Replicas that hold whole copies and peers that share one.
struct Sharding {
  int replicate = 1, shard = 1;
};

void settle_sharding(Export& e) {
  Plan& p = e.plan;
  const int peers = p.data_parallel * p.context_parallel;
  if (p.zero_stage == 1) {
    p.zero_stage = 2;
    e.lose("zero_stage", "FSDP shards gradients with the optimizer states; written as 2");
  }
  if (p.zero_stage == 0 && p.context_parallel > 1) {
    p.zero_stage = 2;
    p.zero_group = p.data_parallel == 1 ? 0 : p.context_parallel;
    e.lose("zero_stage", "context peers always share states (FSDP); written as 2");
    if (p.zero_group > 0) e.lose("zero_group", "the context peers share one copy");
  }
  if (p.zero_group > 0 && p.zero_group % p.context_parallel != 0) {
    p.zero_group = 0;
    e.lose("zero_group", "a group of peers that share holds whole context groups; all share");
  }
  if (p.zero_stage > 0 && peers == 1) {
    p.zero_stage = 0;
    e.lose("zero_stage", "one replica has nobody to share with; written as 0");
  }
}

Sharding sharding_of(const Plan& p) {
  if (p.zero_stage == 0) return {p.data_parallel, 1};
  const int shard = p.zero_group > 0 ? p.zero_group / p.context_parallel : p.data_parallel;
  return {p.data_parallel / shard, shard};
}

/// float8 is no argument: the model's registration has it or not.
const Registered* settle_model(Export& e) {
  Plan& p = e.plan;
  const Registered* known = registered(e.model, p.precision == Precision::fp8);
  if (known == nullptr) {
    e.lose("model", fmt::format("no registered configuration has the sizes of {}: register one and "
                                "name it with --module and --config",
                                e.pricer.workload().name));
  }
  const bool fp8 = known != nullptr && known->fp8;
  if (p.precision == Precision::fp8 && !fp8) {
    e.lose("precision",
           "fp8 layers are a converter in the model's registration "
           "(Float8LinearConverter); written as bf16");
    p.precision = Precision::bf16;
  } else if (p.precision != Precision::fp8 && fp8) {
    e.lose("precision", fmt::format("the registered {} computes in float8", known->config));
    p.precision = Precision::fp8;
  }
  return known;
}

void settle(Export& e) {
  apply_nearest(kNearest, e.plan, e.out.lost);
  settle_sharding(e);
  Plan& p = e.plan;
  if (p.recompute_layers > 0) {
    e.lose("recompute_layers", "recomputation holds for all layers; all are recomputed");
    p.recompute_layers = 0;
  }
  if (p.collective != CollectiveAlgorithm::automatic) {
    e.lose("collective", p.collective == CollectiveAlgorithm::hierarchical
                             ? "NCCL has no such choice"
                             : "set in the environment: torchtitan.sh sets NCCL_ALGO");
  }
  if (!p.layers.empty()) p.layers.clear();
  if (p.tensor_parallel > 1 && e.pricer.workload().num_experts > 0 && p.expert_parallel > 1) {
    e.note("expert_parallel", "experts borrow the peers of data, context and tensor parallelism");
  }
  if (p.recompute == Recompute::selective) {
    e.note("recompute",
           "its selective recomputation keeps the results of products and drops the "
           "rest, more than the attention core");
  }
}

/// Modules of each stage: 'tok_embeddings,layers.0,layers.1' and so on, in the order of the model.
std::vector<std::string> stage_modules(const Export& e) {
  std::vector<std::string> parts;
  const auto spans = chunk_spans(e.plan, e.blocks);
  for (std::size_t c = 0; c < spans.size(); ++c) {
    std::string part = c == 0 ? "tok_embeddings" : "";
    for (int layer = 0; layer < spans[c].count; ++layer) {
      part += fmt::format("{}layers.{}", part.empty() ? "" : ",", spans[c].first + layer);
    }
    if (c + 1 == spans.size()) part += part.empty() ? "norm,lm_head" : ",norm,lm_head";
    parts.push_back(part);
  }
  return parts;
}

std::string csv_name(const Plan& p) { return fmt::format("schedule.{}.csv", name(p.schedule)); }

/// Schedules that PyTorch has under no name of its own come as a file. The named schedule beside it
/// says how many chunks a device has and how they lie.
Status write_schedule(Export& e, Settings& s) {
  const Plan& p = e.plan;
  const bool vee = p.schedule == ScheduleKind::v_half || p.schedule == ScheduleKind::v_min;
  const bool own = vee || p.schedule == ScheduleKind::zb_h1 || p.schedule == ScheduleKind::zb_h2 ||
                   p.schedule == ScheduleKind::automatic;
  if (!own || p.pipeline_parallel == 1) return {};
  const std::string csv = TENON_TRY(schedule_csv(e.pricer, p));
  const bool chunked = p.schedule == ScheduleKind::automatic &&
                       csv.find(fmt::format("{}F0", p.pipeline_parallel)) != std::string::npos;
  s.set("parallelism.pipeline_parallel_schedule", vee       ? "ZBVZeroBubble"
                                                  : chunked ? "Interleaved1F1B"
                                                            : "1F1B");
  e.out.files.push_back({csv_name(p), csv});
  return {};
}

void write_batch(const Export& e, const Registered* known, Settings& s) {
  const Plan& p = e.plan;
  const Sharding sharding = sharding_of(p);
  s.set("parallelism.data_parallel_replicate_degree", std::to_string(sharding.replicate));
  s.set("parallelism.data_parallel_shard_degree", std::to_string(sharding.shard));
  s.set("parallelism.fsdp_reshard_after_forward", p.zero_stage == 3 ? "always" : "never");
  const std::int64_t local = p.micro_batch * (p.pipeline_parallel > 1 ? p.num_micro_batches() : 1);
  s.set("training.local_batch_size", std::to_string(local));
  if (p.pipeline_parallel > 1) {
    s.set("parallelism.pipeline_parallel_microbatch_size", std::to_string(p.micro_batch));
  }
  // Its CUDA graphs work neither with pipelines nor with the usual exchange of experts.
  if (p.pipeline_parallel > 1 || p.expert_parallel > 1) s.flag("training.disable_cuda_graphs");
  if (e.model && e.model->sequence > 0 && known != nullptr) {
    s.set("training.seq_len", std::to_string(e.model->sequence));
  }
}

std::string toml_value(const Setting& setting) {
  const auto quoted = [](const std::string& text) {
    std::string list;
    for (std::size_t at = 0; at <= text.size();) {
      const auto comma = std::min(text.find(',', at), text.size());
      list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", text.substr(at, comma - at));
      at = comma + 1;
    }
    return "[" + list + "]";
  };
  if (setting.name.ends_with("module_fqns_per_model_part")) {
    std::string rows;
    for (const auto& part : setting.values) rows += "  " + quoted(part) + ",\n";
    return "[\n" + rows + "]";
  }
  const std::string& value = setting.values.front();
  const bool number = !value.empty() && value.find_first_not_of("-0123456789") == std::string::npos;
  return number ? value : "\"" + value + "\"";
}

std::string toml_of(const Settings& settings, const Registered* known, const Plan& plan) {
  std::map<std::string, std::string> sections;
  if (known != nullptr) {
    sections["model"] =
        fmt::format("name = \"{}\"\nflavor = \"{}\"\n", known->module, known->config);
  }
  for (const Setting& setting : settings.all()) {
    const auto colon = setting.name.find(':');
    if (colon != std::string::npos) {
      sections[setting.name.substr(0, colon)] +=
          fmt::format("mode = \"{}\"\n", setting.name.substr(colon + 1));
      continue;
    }
    const auto dot = setting.name.find('.');
    std::string& section = sections[setting.name.substr(0, dot)];
    const std::string key = setting.name.substr(dot + 1);
    if (setting.values.empty()) {
      const bool off = key.starts_with("no_");
      section += fmt::format("{} = {}\n", off ? key.substr(3) : key, !off);
    } else {
      section += fmt::format("{} = {}\n", key, toml_value(setting));
    }
  }
  std::string text = "# Written by tenon plan export: " + summary(plan) + "\n";
  for (const auto& [section, lines] : sections) text += fmt::format("\n[{}]\n{}", section, lines);
  return text;
}

std::string script_of(Export& e, const Settings& settings, const Registered* known) {
  const Nodes nodes = nodes_of(e);
  std::string text = "#!/usr/bin/env bash\n# Written by tenon plan export: " + summary(e.plan) +
                     "\n# Run on every node beside this folder's files.\nset -euo pipefail\n";
  text += collective_line(e.plan);
  text += fmt::format("GPUS_PER_NODE={}\nNNODES={}\n\nPLAN=(\n", nodes.devices, nodes.nodes);
  // The choice of recomputation is a subcommand and stands last.
  Settings options;
  std::string mode;
  for (const Setting& setting : settings.all()) {
    if (setting.name.find(':') != std::string::npos) {
      mode = setting.name;
      std::replace(mode.begin(), mode.end(), '_', '-');
    } else {
      options.set(setting.name, setting.values);
    }
  }
  text += argument_lines(options, "--") + "    " + mode + "\n)\n\n";
  text += "torchrun --nproc_per_node \"$GPUS_PER_NODE\" --nnodes \"$NNODES\" \\\n";
  text += "    --rdzv_backend c10d --rdzv_endpoint \"${MASTER_ADDR:-localhost}:29500\" \\\n";
  text += "    -m torchtitan.train";
  text += fmt::format(" --module {} --config {} \\\n", known != nullptr ? known->module : "llama3",
                      known != nullptr ? known->config : "llama3_debugmodel");
  return text + "    \"$@\" \"${PLAN[@]}\"\n";
}

}  // namespace

Status write_torchtitan(Export& e) {
  lose_what_no_engine_has(e, true);
  settle(e);
  lose_placement(e, "torchtitan");
  const Registered* known = settle_model(e);
  Settings s;
  write_counts(kCounts, e.plan, s);
  write_batch(e, known, s);
  write_choices(kChoices, e.plan, s);
  TENON_TRY(write_schedule(e, s));
  if (e.plan.pipeline_parallel > 1) {
    s.set("parallelism.module_fqns_per_model_part", stage_modules(e));
  }
  e.out.files.insert(e.out.files.begin(), {"torchtitan.toml", toml_of(s, known, e.plan)});
  e.out.files.insert(e.out.files.begin(), {"torchtitan.sh", script_of(e, s, known)});
  e.plan.collective = CollectiveAlgorithm::automatic;
  return {};
}

namespace {

/// "parallelism.tensor-parallel-degree" -> underscores, as the list has them.
std::string underscored(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

void flatten(const json& object, const std::string& prefix, const KnownNames& known, Import& i) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix + underscored(key);
    if (value.is_object()) {
      flatten(value, name + ".", known, i);
    } else if (known.values_of(name) == '\0') {
      if (i.request.ignore_unknown) {
        i.out.ignored.push_back(name);
      } else {
        i.problems.push_back(known.unknown(name, i.where));
      }
    } else if (value.is_array()) {
      std::vector<std::string> parts;
      for (const json& part : value) {
        std::string joined;
        if (part.is_array()) {
          for (const json& word : part)
            joined += (joined.empty() ? "" : ",") +
                      (word.is_string() ? word.get<std::string>() : word.dump());
        } else {
          joined = part.is_string() ? part.get<std::string>() : part.dump();
        }
        parts.push_back(std::move(joined));
      }
      i.settings.set(name, std::move(parts), i.where);
    } else {
      i.settings.set(name, {value.is_string() ? value.get<std::string>() : value.dump()}, i.where);
    }
  }
}

/// Layers of each part of the model.
void read_stages(Import& i) {
  const Setting* modules = i.settings.find("parallelism.module_fqns_per_model_part");
  const int p = i.count("pipeline_parallel", 1);
  if (modules != nullptr && p > 1) {
    std::vector<int> counts;
    for (const std::string& part : modules->values) {
      int layers = 0;
      for (auto at = part.find("layers."); at != std::string::npos;
           at = part.find("layers.", at + 1))
        ++layers;
      counts.push_back(layers);
    }
    const int parts = static_cast<int>(counts.size());
    if (parts % p != 0) {
      i.problems.push_back(
          invalid("{} model parts do not divide over {} stages", parts, p).at(modules->where));
    } else {
      i.plan["layers_per_stage"] = counts;
      if (i.plan["schedule"] == "interleaved" || i.plan["schedule"] == "auto")
        i.plan["virtual_stages"] = parts / p;
    }
    i.settings.take("parallelism.module_fqns_per_model_part");
  } else if (i.plan["schedule"] == "interleaved") {
    i.plan["virtual_stages"] = 2;
    i.note("virtual_stages", "2 chunks a device, as torchtitan takes where none are given");
  }
}

void read_csv_name(Import& i) {
  const auto csv = i.settings.take("parallelism.pipeline_parallel_schedule_csv");
  if (!csv || csv->empty() || *csv == "None") return;
  const bool ours = csv->find("schedule.") != std::string::npos && i.plan.contains("schedule");
  const std::string kind =
      csv->substr(csv->rfind("schedule.") == std::string::npos ? 0 : csv->rfind("schedule.") + 9);
  const auto named = schedule_named(kind.substr(0, kind.rfind(".csv")));
  if (ours && named) {
    i.plan["schedule"] = name(*named);
  } else {
    i.lose("schedule", fmt::format("the order in {} is not one of the named schedules", *csv));
  }
}

void read_sharding(Import& i) {
  const auto replicate =
      i.settings.take_count("parallelism.data_parallel_replicate_degree", i.problems).value_or(1);
  auto shard =
      i.settings.take_count("parallelism.data_parallel_shard_degree", i.problems).value_or(-1);
  const auto reshard =
      i.settings.take("parallelism.fsdp_reshard_after_forward").value_or("default");
  if (shard == -1) {
    set_data_parallel(i);
    const int data = i.count("data_parallel", 1);
    shard = std::max<std::int64_t>(1, data / std::max<std::int64_t>(1, replicate));
  }
  i.plan["data_parallel"] = replicate * shard;
  const std::int64_t context = i.count("context_parallel", 1);
  if (shard * context == 1) {
    i.plan["zero_stage"] = 0;
    return;
  }
  // "default" keeps the weights gathered where a pipeline runs many micro-batches over them.
  const bool keeps =
      reshard == "never" || (reshard == "default" && i.count("pipeline_parallel", 1) > 1);
  i.plan["zero_stage"] = keeps ? 2 : 3;
  if (replicate > 1) i.plan["zero_group"] = shard * context;
}

void read_batch(Import& i) {
  const auto local = i.settings.take_count("training.local_batch_size", i.problems).value_or(8);
  const auto micro =
      i.settings.take_count("parallelism.pipeline_parallel_microbatch_size", i.problems);
  const bool pipeline = i.count("pipeline_parallel", 1) > 1;
  i.plan["micro_batch"] = pipeline ? micro.value_or(1) : local;
  const std::int64_t whole = local * i.count("data_parallel", 1);
  const bool given =
      i.plan.contains("global_batch") && i.plan["global_batch"].get<std::int64_t>() > 0;
  if (!given) i.plan["global_batch"] = whole;
  if (pipeline && given && i.plan["global_batch"] != whole) {
    i.lose("global_batch", fmt::format("the pipeline drains {} times a step; a plan runs all "
                                       "micro-batches at once",
                                       i.plan["global_batch"].get<std::int64_t>() /
                                           std::max<std::int64_t>(1, whole)));
  }
}

void read_model(Import& i) {
  auto module = i.settings.take("module"), config = i.settings.take("config");
  if (!module) module = i.settings.take("model.name");
  if (!config) config = i.settings.take("model.flavor");
  if (!module || !config) return;
  for (const Registered& r : kRegistered) {
    const bool old_flavor = *module == r.module && r.config.ends_with(*config);
    if (r.module != *module || (r.config != *config && !old_flavor)) continue;
    if (r.fp8 && i.plan["precision"] == "bf16") i.plan["precision"] = "fp8";
    if (r.preset.empty()) break;
    ModelSpec spec = model_named(r.preset).value();
    const auto length = i.settings.take_count("training.seq_len", i.problems);
    if (length && *length > 0) spec.sequence = static_cast<int>(*length);
    i.out.model = std::move(spec);
    return;
  }
  i.note("model", fmt::format("{} of {} is not known here: give --model", *config, *module));
}

void read_rest(Import& i) {
  if (const auto offload = i.settings.take("training.enable_cpu_offload");
      offload && *offload != "False" && *offload != "false") {
    i.plan["offload"] = "optimizer";
    i.lose("offload",
           "weights and gradients are on the host as well; a plan moves the states only");
  }
  if (i.settings.take("activation_checkpoint.memory_budget") ||
      i.settings.has("activation_checkpoint:memory_budget")) {
    i.settings.take("activation_checkpoint:memory_budget");
    i.lose("recompute", "a memory budget is no choice of a plan; taken as selective");
  }
  if (i.count("tensor_parallel", 1) == 1) i.plan["sequence_parallel"] = false;
}

/// Older scripts name a TOML; what the command line sets goes before it.
Status read_named_file(const KnownNames& known, Import& i) {
  const auto path = i.settings.take("job.config_file");
  if (!path || !i.request.read) return {};
  const Settings given = std::move(i.settings);
  i.settings = {};
  const std::string text = TENON_TRY(i.request.read(*path));
  flatten(TENON_TRY(parse_config(text, *path)), "", known, i);
  for (const Setting& setting : given.all()) {
    if (!setting.used) i.settings.set(setting.name, setting.values, setting.where);
  }
  return {};
}

}  // namespace

Status read_torchtitan(std::string_view text, Import& i) {
  const KnownNames known(Engine::torchtitan);
  const bool toml = i.where.ends_with(".toml");
  if (toml) {
    flatten(TENON_TRY(parse_config(text, i.where)), "", known, i);
  } else {
    const LaunchCommand launch = TENON_TRY(read_launch_script(text, i.where));
    read_arguments(launch, known, i, underscored);
    TENON_TRY(read_named_file(known, i));
    for (const char* mode : {"selective", "none", "full", "memory-budget"}) {
      const std::string word = std::string("activation-checkpoint:") + mode;
      if (i.settings.take(word)) i.settings.flag(underscored(word));
    }
  }
  read_counts(kCounts, i.settings, i.plan, i.problems);
  read_choices(kChoices, i.settings, i.plan);
  read_csv_name(i);
  read_stages(i);
  read_sharding(i);
  read_batch(i);
  read_model(i);
  read_rest(i);
  return {};
}

}  // namespace tenon::planner
