// Megatron-LM: the arguments of its training scripts. Names and meanings from its argument parser
// and model configuration (megatron/training/arguments.py, core/transformer/transformer_config.py).
#include <fmt/format.h>

#include <algorithm>

#include "tenon/planner/exports/engine_internal.h"
#include "tenon/planner/memory_model.h"
#include "tenon/planner/stage_layout.h"

namespace tenon::planner {
namespace {

constexpr CountRow kCounts[] = {{"tensor_parallel", "tensor-model-parallel-size"},
                                {"pipeline_parallel", "pipeline-model-parallel-size"},
                                {"context_parallel", "context-parallel-size"},
                                {"expert_parallel", "expert-model-parallel-size"},
                                {"micro_batch", "micro-batch-size"},
                                {"global_batch", "global-batch-size"}};

constexpr ChoiceRow kChoices[] = {
    {"sequence_parallel", "true", "sequence-parallel"},
    {"zero_stage", "1", "use-distributed-optimizer overlap-grad-reduce overlap-param-gather"},
    {"zero_stage", "1", "use-distributed-optimizer"},
    {"zero_stage", "1", "use-megatron-fsdp data-parallel-sharding-strategy=optim"},
    {"zero_stage", "0", "use-megatron-fsdp data-parallel-sharding-strategy=no_shard"},
    {"zero_stage", "2",
     "use-megatron-fsdp data-parallel-sharding-strategy=optim_grads ckpt-format=fsdp_dtensor "
     "use-distributed-optimizer"},
    {"zero_stage", "2", "use-megatron-fsdp data-parallel-sharding-strategy=optim_grads"},
    {"zero_stage", "2", "use-torch-fsdp2 torch-fsdp2-no-reshard-after-forward"},
    {"zero_stage", "3",
     "use-megatron-fsdp data-parallel-sharding-strategy=optim_grads_params "
     "ckpt-format=fsdp_dtensor use-distributed-optimizer"},
    {"zero_stage", "3", "use-megatron-fsdp data-parallel-sharding-strategy=optim_grads_params"},
    {"zero_stage", "3", "use-megatron-fsdp"},
    {"zero_stage", "3", "use-torch-fsdp2"},
    {"recompute", "none", ""},
    {"recompute", "selective", "recompute-granularity=selective"},
    {"recompute", "selective", "recompute-activations"},
    {"recompute", "full", "recompute-granularity=full"},
    {"precision", "fp32", ""},
    {"precision", "bf16", "bf16"},
    {"precision", "fp16", "fp16"},
    {"precision", "fp8", "bf16 fp8-format=hybrid"},
    {"precision", "fp8", "bf16 fp8-format=e4m3"},
    {"precision", "fp8", "fp8-format=hybrid"},
    {"optimizer", "adam", "optimizer=adam"},
    {"optimizer", "adam", ""},
    {"optimizer", "adam_8bit",
     "optimizer=adam use-precision-aware-optimizer exp-avg-dtype=fp8 exp-avg-sq-dtype=fp8"},
    {"optimizer", "adam_8bit",
     "use-precision-aware-optimizer exp-avg-dtype=fp8 exp-avg-sq-dtype=fp8"},
    {"optimizer", "momentum", "optimizer=sgd sgd-momentum=0.9"},
    {"optimizer", "momentum", "optimizer=sgd"},
    {"optimizer", "sgd", "optimizer=sgd sgd-momentum=0.0"},
    {"optimizer", "muon", "optimizer=muon"},
    {"optimizer", "muon", "optimizer=dist_muon"},
    {"offload", "none", ""},
    {"offload", "optimizer", "optimizer-cpu-offload use-precision-aware-optimizer"},
    {"offload", "optimizer", "optimizer-cpu-offload"},
    {"offload", "activations", "fine-grained-activation-offloading"},
    {"offload", "both",
     "optimizer-cpu-offload use-precision-aware-optimizer fine-grained-activation-offloading"},
    {"gradient_compression", "none", ""},
    {"gradient_compression", "bf16", "grad-reduce-in-bf16"},
    {"context_method", "ring", ""},
    {"context_method", "ring", "cp-comm-type=p2p"},
    {"context_method", "all_to_all", "cp-comm-type=a2a"},
};

constexpr NearestRow kNearest[] = {
    {"schedule", "gpipe", "1f1b", "Megatron-LM has 1F1B and interleaved 1F1B"},
    {"schedule", "zb-h1", "1f1b", "Megatron-LM has 1F1B and interleaved 1F1B"},
    {"schedule", "zb-h2", "1f1b", "Megatron-LM has 1F1B and interleaved 1F1B"},
    {"schedule", "zb-v", "1f1b", "Megatron-LM has 1F1B and interleaved 1F1B"},
    {"schedule", "v-half", "1f1b", "Megatron-LM has 1F1B and interleaved 1F1B"},
    {"schedule", "v-min", "1f1b", "Megatron-LM has 1F1B and interleaved 1F1B"},
    {"schedule", "dualpipe", "1f1b", "Megatron-LM has 1F1B and interleaved 1F1B"},
    {"schedule", "auto", "1f1b", "Megatron-LM has 1F1B and interleaved 1F1B"},
    {"precision", "tf32", "fp32", "TF32 is a setting of the library, not an argument"},
    {"precision", "int8", "bf16", "Megatron-LM has no int8 training"},
    {"optimizer", "adafactor", "adam", "Megatron-LM has no Adafactor"},
    {"gradient_compression", "fp8", "bf16", "gradients travel in fp32 or bf16"},
    {"collective", "hierarchical", "auto", "NCCL has no such choice"},
};

/// What contradicts itself in the engine, moved to what does not.
void settle(Export& e) {
  Plan& p = e.plan;
  apply_nearest(kNearest, p, e.out.lost);
  if (p.schedule != ScheduleKind::interleaved && p.virtual_stages > 1) {
    e.lose("virtual_stages", "chunks need the interleaved schedule");
    e.lose("layers_per_stage", "counts of chunks need the interleaved schedule");
    p.virtual_stages = 1, p.layers_per_stage.clear();
  } else if (static_cast<int>(p.layers_per_stage.size()) >
             p.pipeline_parallel *
                 (p.schedule == ScheduleKind::interleaved ? p.virtual_stages : 1)) {
    e.lose("layers_per_stage", "counts of V-shaped chunks belong to the schedule that was lost");
    p.layers_per_stage.clear();
  }
  const bool aware = p.optimizer == Optimizer::adam_8bit || p.offload == Offload::optimizer ||
                     p.offload == Offload::both;
  if (aware && p.optimizer != Optimizer::adam && p.optimizer != Optimizer::adam_8bit) {
    e.lose("offload", "optimizer states are offloaded for Adam only");
    p.offload = p.offload == Offload::both ? Offload::activations : Offload::none;
  } else if (aware && p.zero_stage == 0) {
    e.lose("zero_stage", "its precision-aware optimizer is the distributed one; written as 1");
    p.zero_stage = 1;
  }
  if (p.zero_stage >= 2 && p.optimizer == Optimizer::muon) {
    e.lose("zero_stage", "Megatron-FSDP has Adam and SGD only; written as 1");
    p.zero_stage = 1;
  }
  if (p.recompute == Recompute::selective && p.recompute_layers > 0) {
    e.lose("recompute_layers", "selective recomputation holds for all layers");
    p.recompute_layers = 0;
  }
  const int chunks = p.virtual_stages;
  if (p.recompute_layers % chunks != 0) {
    e.lose("recompute_layers", fmt::format("its count is of each of {} chunks, and {} does not "
                                           "divide; rounded up",
                                           chunks, p.recompute_layers));
    p.recompute_layers = (p.recompute_layers / chunks + 1) * chunks;
  }
  if (p.context_parallel > 1 && e.model && e.model->sequence % (2 * p.context_parallel) != 0) {
    e.note("context_parallel",
           "Megatron-LM needs a sequence of a multiple of 2 x context_parallel");
  }
}

/// "Et*3|t*4|...|t*3L": one letter a layer, stages divided by bars.
std::string layout_of(const std::vector<int>& counts) {
  std::string text = "E";
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if (c > 0) text += "|";
    if (counts[c] > 0) text += fmt::format("t*{}", counts[c]);
  }
  return text + "L";
}

void write_stages(const Export& e, bool has_model, Settings& s) {
  const Plan& p = e.plan;
  if (p.pipeline_parallel == 1) return;
  const int chunks = p.pipeline_parallel * p.virtual_stages;
  std::vector<int> counts = p.layers_per_stage;
  if (counts.empty() && has_model && e.blocks % chunks != 0)
    counts = spread_blocks(e.blocks, chunks);
  if (!counts.empty()) {
    std::string layout = layout_of(counts);
    if (e.model && e.model->multi_token_layers > 0) {
      layout.insert(layout.size() - 1, std::string(e.model->multi_token_layers, 'm'));
    }
    s.set("pipeline-model-parallel-layout", layout);
  } else if (p.virtual_stages > 1) {
    s.set("num-virtual-stages-per-pipeline-rank", std::to_string(p.virtual_stages));
  }
}

void write_recompute(const Export& e, Settings& s) {
  if (e.plan.recompute != Recompute::full) return;
  const int layers = e.plan.recompute_layers / e.plan.virtual_stages;
  s.set("recompute-method", layers > 0 ? "block" : "uniform");
  s.set("recompute-num-layers", std::to_string(std::max(1, layers)));
}

void write_sharding(Export& e, Settings& s) {
  Plan& p = e.plan;
  if (p.zero_group > 0) {
    const int peers = p.data_parallel * p.context_parallel;
    s.set("num-distributed-optimizer-instances", std::to_string(peers / p.zero_group));
  }
  if (p.expert_parallel > 1 || !p.layers.empty())
    s.set("expert-tensor-parallel-size", std::to_string(expert_tensor(p)));
  if (p.offload == Offload::activations || p.offload == Offload::both) {
    s.set("offload-modules", std::vector<std::string>{"core_attn", "attn_proj"});
    e.note("offload",
           "the inputs of the attention core and its projection are offloaded; it needs "
           "Transformer Engine and NVTE_CPU_OFFLOAD_V1=1");
  }
}

void write_placement(Export& e, Settings& s) {
  using enum Axis;
  Plan& p = e.plan;
  if (p.placement.empty()) return;
  const auto at = [&](Axis axis) {
    return std::find(p.placement.begin(), p.placement.end(), axis) - p.placement.begin();
  };
  // tp-cp-ep-pp-dp: the usual order with data and pipeline swapped.
  const bool swapped = at(pipeline) < at(data) && at(tensor) <= at(context) &&
                       (p.context_parallel == 1 || at(context) < at(pipeline)) &&
                       (p.tensor_parallel == 1 || at(tensor) == 0);
  if (swapped) {
    s.flag("use-tp-pp-dp-mapping");
  } else {
    lose_placement(e, "Megatron-LM");
  }
}

std::string script(Export& e, const Settings& plan, const Settings& model, bool has_model) {
  const Nodes nodes = nodes_of(e);
  const Plan& p = e.plan;
  std::string text = "#!/usr/bin/env bash\n# Written by tenon plan export: " + summary(p) + "\n";
  text += "# Run on every node from a Megatron-LM checkout, with NODE_RANK and MASTER_ADDR set.\n";
  text += "set -euo pipefail\n";
  // Megatron-FSDP wants several connections; everything else wants kernels in the order of launch.
  if (p.zero_stage < 2) text += "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
  if (p.offload == Offload::activations || p.offload == Offload::both)
    text += "export NVTE_CPU_OFFLOAD_V1=1\n";
  text += collective_line(p);
  text += fmt::format("GPUS_PER_NODE={}\nNNODES={}\n\n", nodes.devices, nodes.nodes);
  text += "PLAN=(\n" + argument_lines(plan, "--") + ")\n\n";
  text += "MODEL=(\n" + argument_lines(model, "--") + ")\n\n";
  text += "# Not part of the plan: data, tokenizer, learning rate, checkpoints.\nTRAINING=(\n";
  text += has_model ? "    --mock-data\n    --tokenizer-type NullTokenizer\n" : "";
  text += "    --lr 1e-4\n    --train-iters 100\n)\n\n";
  text += "torchrun --nproc_per_node \"$GPUS_PER_NODE\" --nnodes \"$NNODES\" \\\n";
  text += "    --node_rank \"${NODE_RANK:-0}\" --master_addr \"${MASTER_ADDR:-localhost}\" \\\n";
  text += "    --master_port 29500 pretrain_gpt.py \\\n";
  return text + "    \"${PLAN[@]}\" \"${MODEL[@]}\" \"${TRAINING[@]}\" \"$@\"\n";
}

}  // namespace

Status write_megatron(Export& e) {
  lose_what_no_engine_has(e, true, true);
  settle(e);
  Settings plan, model;
  write_counts(kCounts, e.plan, plan);
  write_choices(kChoices, e.plan, plan);
  const bool has_model = write_megatron_model(e, model);
  write_stages(e, has_model, plan);
  write_recompute(e, plan);
  write_sharding(e, plan);
  write_placement(e, plan);
  if (e.plan.collective != CollectiveAlgorithm::automatic) {
    e.lose("collective", "no argument: the script sets NCCL_ALGO");
    // The choice stays in the script; reading the arguments back does not see it.
  }
  std::string text = script(e, plan, model, has_model);
  e.out.files.push_back({"megatron.sh", std::move(text)});
  e.plan.collective = CollectiveAlgorithm::automatic;
  return {};
}

namespace {

std::string same(std::string name) { return name; }

/// Layers of each stage of a layout such as "Et*3|(tt|)*2,m|L"; a problem where it cannot be read.
class LayoutReader {
 public:
  explicit LayoutReader(std::string text) : text_(std::move(text)) {}
  std::optional<std::vector<int>> counts() {
    const auto flat = sequence();
    if (!flat || at_ != text_.size()) return std::nullopt;
    std::vector<int> counts = {0};
    for (char c : *flat) {
      if (c == '|') counts.push_back(0);
      if (c == 't') ++counts.back();
    }
    return counts;
  }

 private:
  std::optional<std::string> sequence() {
    std::string flat;
    while (at_ < text_.size() && text_[at_] != ')') {
      std::string piece;
      const char c = text_[at_++];
      if (c == '(') {
        const auto inner = sequence();
        if (!inner || at_ == text_.size()) return std::nullopt;
        ++at_, piece = *inner;
      } else if (std::string_view("EtmL|").find(c) != std::string_view::npos) {
        piece = c;
      } else if (c != ',' && c != ' ') {
        return std::nullopt;
      }
      int times = 1;
      if (at_ + 1 < text_.size() && text_[at_] == '*') {
        times = 0, ++at_;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && times < 100000)
          times = 10 * times + (text_[at_++] - '0');
      }
      if (flat.size() + piece.size() * static_cast<std::size_t>(times) > 1000000)
        return std::nullopt;
      for (int i = 0; i < times; ++i) flat += piece;
    }
    return flat;
  }
  std::string text_;
  std::size_t at_ = 0;
};

void read_layout(Import& i) {
  const auto text = i.settings.take("pipeline-model-parallel-layout");
  if (!text) return;
  const int p = i.count("pipeline_parallel", 1);
  const auto counts = LayoutReader(*text).counts();
  if (!counts || counts->size() % static_cast<std::size_t>(p) != 0) {
    return i.problems.push_back(
        invalid("the layout '{}' is not {} stages or a multiple of E, t, m, L", *text, p)
            .at(i.where));
  }
  i.plan["layers_per_stage"] = *counts;
  i.plan["virtual_stages"] = static_cast<int>(counts->size()) / p;
}

/// Even layers with fewer in the first and last stage.
void read_uneven_ends(Import& i) {
  const auto first = i.settings.take_count("decoder-first-pipeline-num-layers", i.problems);
  const auto last = i.settings.take_count("decoder-last-pipeline-num-layers", i.problems);
  const int p = i.count("pipeline_parallel", 1);
  const int layers = i.out.model ? i.out.model->layers : 0;
  int less_first = i.settings.take("account-for-embedding-in-pipeline-split") ? 1 : 0;
  int less_last = i.settings.take("account-for-loss-in-pipeline-split") ? 1 : 0;
  if ((!first && !last && less_first + less_last == 0) || p < 2 || layers == 0) return;
  std::vector<int> counts(static_cast<std::size_t>(p), (layers + less_first + less_last) / p);
  if (first || last) {
    const std::int64_t rest = layers - first.value_or(0) - last.value_or(0);
    const int middle = p - (first ? 1 : 0) - (last ? 1 : 0);
    if (middle > 0) counts.assign(counts.size(), static_cast<int>(rest / middle));
    if (first) counts.front() = static_cast<int>(*first);
    if (last) counts.back() = static_cast<int>(*last);
  } else {
    counts.front() -= less_first, counts.back() -= less_last;
  }
  i.plan["layers_per_stage"] = counts;
}

void read_chunks(Import& i) {
  const int p = i.count("pipeline_parallel", 1);
  if (const auto v = i.settings.take_count("num-virtual-stages-per-pipeline-rank", i.problems)) {
    i.plan["virtual_stages"] = *v;
  }
  const auto each = i.settings.take_count("num-layers-per-virtual-pipeline-stage", i.problems);
  if (each && *each > 0) {
    const int layers = i.out.model ? i.out.model->layers : 0;
    if (layers == 0) {
      i.problems.push_back(
          invalid("num-layers is needed for num-layers-per-virtual-pipeline-stage").at(i.where));
    } else {
      i.plan["virtual_stages"] = std::max<std::int64_t>(1, layers / p / *each);
    }
  }
  const bool interleaved = i.count("virtual_stages", 1) > 1 && p > 1;
  i.plan["schedule"] = interleaved ? "interleaved" : "1f1b";
}

void read_recompute(Import& i) {
  const auto method = i.settings.take("recompute-method");
  const auto layers = i.settings.take_count("recompute-num-layers", i.problems);
  if (method && *method == "block" && layers) {
    i.plan["recompute_layers"] = *layers * i.count("virtual_stages", 1);
  } else if (method && *method == "uniform" && layers && *layers > 1) {
    i.lose(
        "recompute_layers",
        fmt::format("{} layers are recomputed together; a plan recomputes one at a time", *layers));
  }
  const Setting* modules = i.settings.find("recompute-modules");
  if (modules == nullptr) return;
  i.settings.take("recompute-modules");
  if (modules->values != std::vector<std::string>{"core_attn"}) {
    i.lose("recompute", "a plan's selective recomputation is of the attention core only");
  }
}

void read_sharding(Import& i) {
  const auto copies = i.settings.take_count("num-distributed-optimizer-instances", i.problems);
  set_data_parallel(i);
  const int peers = i.count("data_parallel", 1) * i.count("context_parallel", 1);
  if (copies && *copies > 1 && peers % *copies == 0) i.plan["zero_group"] = peers / *copies;
  const auto expert_tensor = i.settings.take_count("expert-tensor-parallel-size", i.problems);
  if (expert_tensor && *expert_tensor != i.count("tensor_parallel", 1)) {
    i.plan["layers"] =
        nlohmann::json::array({{{"match", "experts"}, {"tensor_parallel", *expert_tensor}}});
  }
  if (i.settings.take("use-tp-pp-dp-mapping")) {
    i.plan["placement"] = {"tensor", "context", "pipeline", "data"};
  }
  for (const char* name : {"ckpt-format", "offload-modules", "overlap-grad-reduce",
                           "overlap-param-gather", "data-parallel-sharding-strategy",
                           "use-distributed-optimizer", "use-precision-aware-optimizer"}) {
    i.settings.take(name);
  }
  if (i.settings.take("deepspeed") || i.settings.take("no-pipeline-parallel")) {
    i.lose("zero_stage", "the script runs under DeepSpeed: read its configuration too");
  }
}

}  // namespace

Status read_megatron(std::string_view text, Import& i) {
  const LaunchCommand launch = TENON_TRY(read_launch_script(text, i.where));
  read_arguments(launch, KnownNames(Engine::megatron), i, same);
  read_megatron_model(i);
  read_counts(kCounts, i.settings, i.plan, i.problems);
  read_choices(kChoices, i.settings, i.plan);
  if (const auto batch = i.settings.take_count("rampup-batch-size", i.problems)) {
    i.lose("global_batch", fmt::format("it grows from {}; a plan is of the full batch", *batch));
  }
  read_chunks(i);
  read_layout(i);
  read_uneven_ends(i);
  if (i.count("virtual_stages", 1) > 1) i.plan["schedule"] = "interleaved";
  read_recompute(i);
  read_sharding(i);
  return {};
}

}  // namespace tenon::planner
