// DeepSpeed: ds_config.json, the launcher's arguments, and what must be set in code. Keys and
// meanings from its configuration classes (deepspeed/runtime/config.py and what it reads).
#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/object_reader.h"
#include "tenon/planner/exports/engine_internal.h"

namespace tenon::planner {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr CountRow kCounts[] = {{"micro_batch", "train_micro_batch_size_per_gpu"},
                                {"global_batch", "train_batch_size"}};

constexpr ChoiceRow kChoices[] = {
    {"zero_stage", "0", "zero_optimization.stage=0"},
    {"zero_stage", "0", ""},
    {"zero_stage", "1", "zero_optimization.stage=1"},
    {"zero_stage", "2", "zero_optimization.stage=2"},
    {"zero_stage", "3", "zero_optimization.stage=3"},
    {"precision", "fp32", ""},
    {"precision", "bf16", "bf16.enabled=true"},
    {"precision", "bf16", "bfloat16.enabled=true"},
    {"precision", "bf16", "torch_autocast.enabled=true torch_autocast.dtype=bfloat16"},
    {"precision", "fp16", "fp16.enabled=true"},
    {"optimizer", "adam", "optimizer.type=AdamW"},
    {"optimizer", "adam", ""},
    {"optimizer", "adam", "optimizer.type=Adam"},
    {"optimizer", "adam", "optimizer.type=adam"},
    {"optimizer", "adam", "optimizer.type=adamw"},
    {"optimizer", "momentum", "optimizer.type=SGD optimizer.params.momentum=0.9"},
    {"optimizer", "sgd", "optimizer.type=SGD"},
    {"optimizer", "muon", "optimizer.type=Muon"},
    {"optimizer", "muon", "optimizer.type=muon"},
    {"offload", "none", ""},
    {"offload", "optimizer", "zero_optimization.offload_optimizer.device=cpu"},
    {"offload", "activations", "activation_checkpointing.cpu_checkpointing=true"},
    {"offload", "both",
     "zero_optimization.offload_optimizer.device=cpu "
     "activation_checkpointing.cpu_checkpointing=true"},
    {"gradient_compression", "none", "communication_data_type=fp32"},
    {"gradient_compression", "none", ""},
    {"gradient_compression", "bf16", "communication_data_type=bf16"},
};

constexpr NearestRow kNearest[] = {
    {"schedule", "gpipe", "1f1b", "the pipeline engine has 1F1B only"},
    {"schedule", "interleaved", "1f1b", "the pipeline engine has 1F1B only"},
    {"schedule", "zb-h1", "1f1b", "the pipeline engine has 1F1B only"},
    {"schedule", "zb-h2", "1f1b", "the pipeline engine has 1F1B only"},
    {"schedule", "zb-v", "1f1b", "the pipeline engine has 1F1B only"},
    {"schedule", "v-half", "1f1b", "the pipeline engine has 1F1B only"},
    {"schedule", "v-min", "1f1b", "the pipeline engine has 1F1B only"},
    {"schedule", "dualpipe", "1f1b", "the pipeline engine has 1F1B only"},
    {"schedule", "auto", "1f1b", "the pipeline engine has 1F1B only"},
    {"precision", "tf32", "fp32", "TF32 is a setting of the library, not of the configuration"},
    {"precision", "int8", "bf16", "there is no int8 training"},
    {"precision", "fp8", "bf16", "fp8 layers are built in code (Transformer Engine)"},
    {"optimizer", "adam_8bit", "adam", "8-bit Adam is handed over in code (bitsandbytes)"},
    {"optimizer", "adafactor", "adam", "Adafactor is handed over in code"},
    {"gradient_compression", "fp8", "bf16", "gradients travel in fp32, fp16 or bf16"},
    {"context_method", "ring", "all_to_all", "sequences are split by all-to-all (Ulysses)"},
};

/// What the pipeline engine cannot be combined with.
void settle_pipeline(Export& e) {
  Plan& p = e.plan;
  if (p.pipeline_parallel == 1) return;
  if (p.zero_stage > 1) {
    e.lose("zero_stage", "the pipeline engine takes ZeRO 0 and 1; written as 1");
    p.zero_stage = 1;
  }
  if (p.virtual_stages > 1) e.lose("virtual_stages", "the pipeline engine has one chunk a device");
  p.virtual_stages = 1;
}

/// With a pipeline, sequences stay whole: the context peers become replicas.
Status settle_context(Export& e) {
  Plan& p = e.plan;
  if (p.pipeline_parallel == 1 || p.context_parallel == 1) return {};
  const std::int64_t replicas = std::int64_t{p.data_parallel} * p.context_parallel;
  const int wanted = p.micro_batch;
  while (p.micro_batch > 1 && p.global_batch % (replicas * p.micro_batch) != 0) p.micro_batch /= 2;
  if (p.global_batch % (replicas * p.micro_batch) != 0) {
    return unsupported(
               "DeepSpeed pipelines do not split sequences, and global_batch {} does not divide "
               "over {} replicas instead",
               p.global_batch, replicas)
        .with_help("plan again with --fix context_parallel=1");
  }
  if (p.micro_batch != wanted) {
    e.lose("micro_batch",
           fmt::format("{} so that the batch divides over more replicas", p.micro_batch));
  }
  e.lose("context_parallel", "pipelines do not split sequences; written as 1");
  e.lose("data_parallel", "the context peers became replicas");
  e.lose("context_method", "see context_parallel");
  p.data_parallel *= p.context_parallel, p.context_parallel = 1;
  return {};
}

void settle_memory(Export& e) {
  Plan& p = e.plan;
  if (p.zero_group > 0) {
    e.lose("zero_group", "states are shared by all data-parallel peers");
    p.zero_group = 0;
  }
  const bool optimizer = p.offload == Offload::optimizer || p.offload == Offload::both;
  bool activations = p.offload == Offload::activations || p.offload == Offload::both;
  if (activations && p.recompute != Recompute::full) {
    e.lose("offload", "only the inputs of recomputed layers are kept on the host");
    activations = false;
  }
  if (optimizer && p.zero_stage == 0) {
    e.lose("zero_stage", "offloaded states need ZeRO 1 or more; written as 1");
    p.zero_stage = 1;
  }
  p.offload = optimizer ? (activations ? Offload::both : Offload::optimizer)
                        : (activations ? Offload::activations : Offload::none);
}

/// Text of `deepspeed_setup.py`: what the configuration file cannot hold, line by line.
class CodeSteps {
 public:
  void add(std::string comment, std::string line) {
    text_ += "# " + comment + "\n" + (line.empty() ? "" : line + "\n");
  }
  std::string text(const Export& e) const {
    return "# Written by tenon plan export: what ds_config.json cannot hold. Import it where the "
           "model is built.\n" +
           fmt::format("MICRO_BATCHES = {}\n", e.plan.num_micro_batches()) + text_;
  }

 private:
  std::string text_;
};

/// Degrees of the mesh that code builds.
void code_for_mesh(Export& e, CodeSteps& code) {
  const Plan& p = e.plan;
  if (p.pipeline_parallel > 1) {
    code.add(
        "Pipeline: hand `topology` to deepspeed.pipe.PipelineModule(layers, topology=topology, "
        "loss_fn=...).",
        fmt::format("from deepspeed.runtime.pipe.topology import PipeModelDataParallelTopology\n"
                    "topology = PipeModelDataParallelTopology(num_pp={}, num_mp={}, num_dp={})",
                    p.pipeline_parallel, p.tensor_parallel, p.data_parallel));
  }
  if (p.pipeline_parallel > 1 && p.tensor_parallel > 1) {
    e.lose("tensor_parallel",
           "with a pipeline it is set in code (deepspeed_setup.py), and the "
           "layers must be tensor-parallel ones (Megatron's)");
  }
  if (p.sequence_parallel) {
    e.lose("sequence_parallel", "set in code: it is a choice of the tensor-parallel layers");
    code.add("Tensor-parallel layers divide the tokens between them, too.",
             "SEQUENCE_PARALLEL = True");
  }
  if (p.expert_parallel > 1 && p.pipeline_parallel > 1) {
    e.lose("expert_parallel", "with a pipeline it is set in code (deepspeed_setup.py)");
    code.add("Experts: deepspeed.moe.layer.MoE(..., ep_size=EXPERT_PARALLEL).",
             fmt::format("EXPERT_PARALLEL = {}", p.expert_parallel));
  }
}

void code_for_layers(Export& e, CodeSteps& code) {
  Plan& p = e.plan;
  if (p.pipeline_parallel > 1 && !p.layers_per_stage.empty()) {
    std::string bounds = "0";
    int sum = 0;
    for (int count : p.layers_per_stage) bounds += fmt::format(", {}", sum += count);
    code.add(
        "Layers of each stage: PipelineModule.parts after _partition_layers, or a partition "
        "method of your own.",
        "PARTS = [" + bounds + "]");
    e.lose("layers_per_stage", "set in code (deepspeed_setup.py)");
  }
  const bool in_file = p.pipeline_parallel > 1 && p.recompute == Recompute::full;
  if (p.recompute != Recompute::none && !in_file) {
    e.lose("recompute",
           "set in code (deepspeed_setup.py): which layers are wrapped is the model's");
    code.add("Wrap these layers in deepspeed.checkpointing.checkpoint(layer, *inputs).",
             fmt::format("RECOMPUTE = \"{}\"", name(p.recompute)));
  }
  if (p.recompute_layers > 0) {
    e.lose("recompute_layers", "set in code (deepspeed_setup.py)");
    code.add("Only so many layers of each stage are recomputed.",
             fmt::format("RECOMPUTE_LAYERS = {}", p.recompute_layers));
  }
}

/// A dotted name as nested objects; numbers and truth values as such.
void put(ordered_json& object, const std::string& name, const std::string& text) {
  ordered_json* at = &object;
  std::size_t start = 0;
  for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', start)) {
    at = &(*at)[name.substr(start, dot - start)];
    start = dot + 1;
  }
  const ordered_json value = ordered_json::parse(text, nullptr, false);
  (*at)[name.substr(start)] = value.is_discarded() ? ordered_json(text) : value;
}

void write_parallel_sections(const Export& e, Settings& s) {
  const Plan& p = e.plan;
  s.set("gradient_accumulation_steps", std::to_string(p.num_micro_batches()));
  if (p.pipeline_parallel > 1) {
    s.set("pipeline.stages", std::to_string(p.pipeline_parallel));
    s.set("pipeline.activation_checkpoint_interval", p.recompute == Recompute::full ? "1" : "0");
    return;
  }
  if (p.tensor_parallel > 1)
    s.set("tensor_parallel.autotp_size", std::to_string(p.tensor_parallel));
  if (p.context_parallel > 1) s.set("sequence_parallel_size", std::to_string(p.context_parallel));
  if (p.expert_parallel > 1) {
    s.set("expert_parallel.enabled", "true");
    s.set("expert_parallel.autoep_size", std::to_string(p.expert_parallel));
  }
}

std::string launch_script(Export& e) {
  const Nodes nodes = nodes_of(e);
  std::string text =
      "#!/usr/bin/env bash\n# Written by tenon plan export: " + summary(e.plan) + "\n";
  text +=
      "# `hostfile` names the nodes; train.py builds the model with deepspeed_setup.py and calls\n";
  text += "# deepspeed.initialize(config=\"ds_config.json\", ...).\nset -euo pipefail\n";
  text += collective_line(e.plan);
  return text + fmt::format(
                    "deepspeed --hostfile hostfile --num_nodes {} --num_gpus {} train.py \\\n"
                    "    --deepspeed --deepspeed_config ds_config.json \"$@\"\n",
                    nodes.nodes, nodes.devices);
}

std::string hostfile(const Cluster& cluster) {
  std::string text;
  int node = 0;
  for (const NodeGroup& group : cluster.groups) {
    for (int i = 0; i < group.nodes; ++i)
      text += fmt::format("node-{} slots={}\n", node++, group.count);
  }
  return text;
}

}  // namespace

Status write_deepspeed(Export& e) {
  lose_what_no_engine_has(e, true);
  const bool chunked = static_cast<int>(e.plan.layers_per_stage.size()) > e.plan.pipeline_parallel;
  apply_nearest(kNearest, e.plan, e.out.lost);
  if (e.plan.context_parallel == 1) {
    std::erase_if(e.out.lost, [](const Remark& r) { return r.key == "context_method"; });
  }
  settle_pipeline(e);
  TENON_TRY(settle_context(e));
  settle_memory(e);
  lose_placement(e, "DeepSpeed");
  if (chunked) {
    e.lose("layers_per_stage", "counts of chunks belong to the schedule that was lost");
    e.plan.layers_per_stage.clear();
  }
  if (!e.model) e.note("model", "DeepSpeed takes the model from code");
  CodeSteps code;
  code_for_mesh(e, code);
  code_for_layers(e, code);
  if (e.plan.collective != CollectiveAlgorithm::automatic) {
    e.lose("collective", e.plan.collective == CollectiveAlgorithm::hierarchical
                             ? "NCCL has no such choice"
                             : "set in the environment: launch_deepspeed.sh sets NCCL_ALGO");
  }
  Settings s;
  write_counts(kCounts, e.plan, s);
  write_parallel_sections(e, s);
  write_choices(kChoices, e.plan, s);
  ordered_json config;
  for (const Setting& setting : s.all()) put(config, setting.name, setting.values.front());
  if (config.contains("optimizer")) config["optimizer"]["params"]["lr"] = 1e-4;
  if (e.plan.zero_stage > 0) config["zero_optimization"]["overlap_comm"] = true;
  e.out.files.push_back({"ds_config.json", config.dump(2) + "\n"});
  e.out.files.push_back({"launch_deepspeed.sh", launch_script(e)});
  e.out.files.push_back({"deepspeed_setup.py", code.text(e)});
  e.out.files.push_back({"hostfile", hostfile(e.pricer.cluster())});
  e.plan.collective = CollectiveAlgorithm::automatic;
  return {};
}

namespace {

/// Leaves of a configuration as dotted names; "auto" is whatever the caller's framework fills in.
void flatten(const json& object, const std::string& prefix, const KnownNames& known, Import& i) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix + key;
    if (known.values_of(name) == '\0') {
      if (i.request.ignore_unknown) {
        i.out.ignored.push_back(name);
      } else {
        i.problems.push_back(known.unknown(name, i.where));
      }
    } else if (value.is_object() && known.values_of(name) == '+') {
      flatten(value, name + ".", known, i);
    } else if (value == "auto") {
      i.note(name, "\"auto\" is filled in by the framework that calls DeepSpeed");
    } else {
      i.settings.set(name, {value.is_string() ? value.get<std::string>() : value.dump()}, i.where);
    }
  }
}

/// The two batch fields that are there give the third; with all three they give the replicas.
void read_batch(Import& i) {
  auto micro = i.settings.take_count("train_micro_batch_size_per_gpu", i.problems);
  auto steps = i.settings.take_count("gradient_accumulation_steps", i.problems);
  auto batch = i.settings.take_count("train_batch_size", i.problems);
  for (const auto& field : {micro, steps, batch}) {
    if (field && *field < 1) {
      i.problems.push_back(
          invalid("batch fields must be at least 1, one is {}", *field).at(i.where));
      return;
    }
  }
  for (const auto& [key, value] : i.request.set) {  // the other degrees may come from the caller
    const json parsed = json::parse(value, nullptr, false);
    if (parsed.is_number_integer()) i.plan[key] = parsed;
  }
  if (micro && steps && batch && i.devices == 0 && !i.plan.contains("data_parallel")) {
    if (*batch % (*micro * *steps) != 0) {
      i.problems.push_back(
          invalid("train_batch_size {} is no multiple of train_micro_batch_size_per_gpu {} x "
                  "gradient_accumulation_steps {}",
                  *batch, *micro, *steps)
              .at(i.where)
              .with_help(fmt::format("train_batch_size = {}", *micro * *steps)));
      return;
    }
    i.plan["data_parallel"] = *batch / (*micro * *steps);
  }
  set_data_parallel(i);
  const int replicas = i.count("data_parallel", 1);
  if (micro && steps && batch && *batch != *micro * *steps * replicas) {
    i.problems.push_back(
        invalid("train_batch_size {} is not train_micro_batch_size_per_gpu {} x "
                "gradient_accumulation_steps {} x {} replicas",
                *batch, *micro, *steps, replicas)
            .at(i.where)
            .with_help(fmt::format("train_batch_size = {}", *micro * *steps * replicas)));
    return;
  }
  if (!batch && micro) batch = *micro * steps.value_or(1) * replicas;
  if (!micro && batch) micro = std::max<std::int64_t>(1, *batch / (steps.value_or(1) * replicas));
  if (micro) i.plan["micro_batch"] = *micro;
  if (batch) i.plan["global_batch"] = *batch;
}

void read_degrees(Import& i) {
  constexpr CountRow kDegrees[] = {{"pipeline_parallel", "pipeline.stages"},
                                   {"tensor_parallel", "tensor_parallel.autotp_size"},
                                   {"context_parallel", "sequence_parallel_size"},
                                   {"expert_parallel", "expert_parallel.autoep_size"}};
  read_counts(kDegrees, i.settings, i.plan, i.problems);
  if (i.plan.contains("tensor_parallel") && i.plan["tensor_parallel"] == 0) {
    i.plan["tensor_parallel"] = 1;
  }
  if (i.plan.contains("context_parallel")) i.plan["context_method"] = "all_to_all";
  const auto interval =
      i.settings.take_count("pipeline.activation_checkpoint_interval", i.problems);
  if (interval && *interval > 0) i.plan["recompute"] = "full";
  if (interval && *interval > 1) {
    i.lose("recompute", "layers are recomputed in groups; a plan recomputes one at a time");
  }
  i.settings.take("expert_parallel.enabled"), i.settings.take("pipeline.partition");
}

void read_memory(Import& i) {
  Settings& s = i.settings;
  if (const auto device = s.take("zero_optimization.offload_optimizer.device");
      device && *device == "nvme") {
    i.lose("offload", "states on NVMe are taken as on the host");
    i.plan["offload"] = "optimizer";
  }
  if (const auto device = s.take("zero_optimization.offload_param.device");
      device && *device != "none") {
    i.lose("offload", "a plan keeps weights on the device");
  }
  if (const auto size = s.take_count("zero_optimization.zero_hpz_partition_size", i.problems);
      size && *size > 1) {
    i.lose("zero_group", "the secondary copy of the weights in a node is not modelled");
  }
  for (const char* name :
       {"zero_optimization.zero_quantized_weights", "zero_optimization.zero_quantized_gradients"}) {
    if (const auto on = s.take(name); on && *on == "true")
      i.lose("gradient_compression", fmt::format("{} is not modelled", name));
  }
  if (!s.has("pipeline.stages") && s.has("activation_checkpointing.partition_activations")) {
    i.note("recompute", "which layers are recomputed is set in code: --set recompute=full if so");
  }
}

/// A launch script names the configuration and the devices.
Result<std::string> config_of_script(std::string_view text, Import& i) {
  const LaunchCommand launch = TENON_TRY(read_launch_script(text, i.where));
  Import script{i.request, i.where, {}, json::object(), {}, {}, i.devices};
  read_arguments(launch, KnownNames(Engine::deepspeed), script,
                 [](std::string name) { return name; });
  i.devices = script.devices;
  for (const ShellWord& word : launch.arguments) {
    const auto equal = word.text.find('=');
    const std::string path = equal == std::string::npos ? word.text : word.text.substr(equal + 1);
    if (!path.ends_with(".json") || !i.request.read) continue;
    i.where = path;
    return i.request.read(path);
  }
  return invalid("the script names no configuration file (.json)").at(i.where);
}

}  // namespace

Status read_deepspeed(std::string_view text, Import& i) {
  std::string config(text);
  const auto start = config.find_first_not_of(" \t\r\n");
  if (start == std::string::npos || config[start] != '{') {
    config = TENON_TRY(config_of_script(text, i));
  }
  const json tree = TENON_TRY(parse_config(config, i.where));
  if (!tree.is_object()) return invalid("not an object").at(i.where);
  flatten(tree, "", KnownNames(Engine::deepspeed), i);
  if (!i.problems.empty()) return all_of(std::move(i.problems));
  read_choices(kChoices, i.settings, i.plan);
  read_degrees(i);
  read_memory(i);
  read_batch(i);
  return {};
}

}  // namespace tenon::planner
