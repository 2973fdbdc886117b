// Tables to runs.
#include "tenon/planner/calibration/measured_run.h"

#include <algorithm>
#include <cmath>

#include "tenon/base/object_reader.h"
#include "tenon/machine/embedded_file.h"
#include "tenon/planner/workload.h"

namespace tenon {
/// data/training/*.csv and split.toml.
std::span<const EmbeddedFile> training_files();
}  // namespace tenon

namespace tenon::planner {
namespace {

/// What a table's rows have in common.
struct TableFacts {
  std::string device = "A100-80G";
  ModelKind kind = ModelKind::gpt;
  double vocab = 51200, sequence = 2048;
  double gbytes_per_second = 0;  // between nodes, 0: the device's usual fabric
  Precision precision = Precision::fp16;
  Recompute recompute = Recompute::none;
  bool sequence_parallel = false;
  int zero_stage = 0;
  double micro_batch = 1;  // where the table has none
};

struct Row {
  const CsvTable& table;
  std::size_t index;
  std::vector<Error>& problems;

  double number(const char* column, double fallback, bool required = false) const {
    auto value = required ? table.number(index, column) : table.number_or(index, column, fallback);
    if (value.ok()) return *value;
    problems.push_back(std::move(value).error());
    return fallback;
  }
  int whole(const char* column, double fallback, bool required = false) const {
    const double value = number(column, fallback, required);
    if (value < 1 || value != std::floor(value)) {
      problems.push_back(invalid("{} must be a whole number of at least 1, got {}", column, value)
                             .at(fmt::format("{} row {}", table.name, index + 1)));
      return 1;
    }
    return static_cast<int>(value);
  }
};

ModelSpec model_of(const Row& row, const TableFacts& facts) {
  ModelSpec spec;
  const std::string preset = row.table.text(row.index, "model");
  if (auto known = model_named(preset); known.ok()) {
    spec = *known;
  } else {
    spec.kind = facts.kind;
    spec.name = preset;
    spec.layers = row.whole("layers", 1, true), spec.hidden = row.whole("hidden", 1, true);
    spec.heads = row.whole("heads", 1, true);
    const bool llama = facts.kind == ModelKind::llama || facts.kind == ModelKind::moe;
    spec.gated = llama;
    spec.biases = spec.dropout = spec.learned_positions = spec.tied_embeddings = !llama;
    spec.causal = facts.kind != ModelKind::bert;
  }
  spec.vocab = row.whole("vocab", spec.vocab > 0 ? spec.vocab : facts.vocab);
  spec.sequence = row.whole("seq", facts.sequence);
  if (row.table.has("ffn")) spec.ffn = row.whole("ffn", spec.ffn > 0 ? spec.ffn : 4 * spec.hidden);
  if (row.table.has("kv_heads")) spec.kv_heads = row.whole("kv_heads", spec.heads);
  auto resolved = resolve(spec);
  if (resolved.ok()) return std::move(resolved).value();
  row.problems.push_back(std::move(resolved).error());
  return spec;
}

Plan plan_of(const Row& row, const TableFacts& facts) {
  Plan plan;
  plan.tensor_parallel = row.whole("tp", 1), plan.pipeline_parallel = row.whole("pp", 1);
  plan.context_parallel = row.whole("cp", 1), plan.expert_parallel = row.whole("ep", 1);
  const double gpus = row.number("gpus", 0);
  const double each = double(plan.tensor_parallel) * plan.pipeline_parallel * plan.context_parallel;
  plan.data_parallel = row.whole("dp", std::max(1.0, gpus / each));
  plan.virtual_stages = row.whole("vpp", 1);
  if (plan.virtual_stages > 1) plan.schedule = ScheduleKind::interleaved;
  plan.micro_batch = row.whole("mbs", facts.micro_batch);
  plan.global_batch = row.whole("gbs", 1, true);
  plan.precision = facts.precision, plan.recompute = facts.recompute;
  plan.sequence_parallel = facts.sequence_parallel, plan.zero_stage = facts.zero_stage;
  return plan;
}

Cluster cluster_of(const Row& row, const TableFacts& facts, std::int64_t devices) {
  auto cluster = uniform_cluster(facts.device, devices);
  if (!cluster.ok()) {
    row.problems.push_back(
        std::move(cluster).error().at(fmt::format("{} row {}", row.table.name, row.index + 1)));
    return {};
  }
  const int per_node = static_cast<int>(row.number("devices_per_node", 0));
  if (per_node > 0) {
    NodeGroup& group = cluster->groups[0];
    if (devices % per_node != 0) {
      row.problems.push_back(invalid("{} devices do not fill nodes of {}", devices, per_node)
                                 .at(fmt::format("{} row {}", row.table.name, row.index + 1)));
    }
    group.count = per_node, group.nodes = static_cast<int>(devices / per_node);
  }
  if (facts.gbytes_per_second > 0) {
    cluster->groups[0].cluster_link.bytes_per_second = facts.gbytes_per_second * 1e9;
  }
  return std::move(cluster).value();
}

MeasuredRun run_of(const Row& row, const TableFacts& facts) {
  MeasuredRun run;
  run.id = fmt::format("{}#{}", row.table.name, row.index + 1);
  run.model = model_of(row, facts);
  run.plan = plan_of(row, facts);
  run.cluster = cluster_of(row, facts, run.plan.num_devices());
  std::string size = row.table.text(row.index, "model");
  if (row.table.has("params_b") && size.empty()) size = row.table.text(row.index, "params_b") + "B";
  run.label = fmt::format("{} tp{} dp{} pp{} mbs{}", size, run.plan.tensor_parallel,
                          run.plan.data_parallel, run.plan.pipeline_parallel, run.plan.micro_batch);
  if (run.plan.virtual_stages > 1) run.label += fmt::format(" x{}", run.plan.virtual_stages);
  return run;
}

double seconds_of(const Row& row) {
  if (row.table.has("iter_ms")) return row.number("iter_ms", 0, true) / 1e3;
  return row.number("iter_s", 0, true);
}

TableFacts facts_of(std::string_view name) {
  TableFacts facts;
  facts.recompute = Recompute::full;
  if (name == "vtrain_multinode_a100.csv") facts.gbytes_per_second = 12.5;
  if (name == "megatron_h100_first3.csv") {
    // Neither micro-batch nor recomputation is published: two sequences and none, for the whole
    // table.
    facts = {.device = "H100-SXM",
             .vocab = 131072,
             .sequence = 4096,
             .precision = Precision::bf16,
             .recompute = Recompute::none,
             .sequence_parallel = true,
             .zero_stage = 1,
             .micro_batch = 2};
  }
  if (name == "megatron_ci_7b_memory.csv") {
    facts = {.vocab = 131073,
             .sequence = 8192,
             .precision = Precision::bf16,
             .recompute = Recompute::none,
             .zero_stage = 1};
  }
  return facts;
}

/// The 7B model of the memory table, which has no columns for it.
ModelSpec ci_model() {
  ModelSpec spec;
  spec.kind = ModelKind::gpt;
  spec.name = "7B";
  spec.layers = 32, spec.hidden = 4096, spec.heads = 32, spec.kv_heads = 8, spec.ffn = 16384;
  spec.vocab = 131073, spec.sequence = 8192;
  spec.biases = spec.dropout = spec.learned_positions = true;
  return *resolve(spec);
}

MeasuredRun ci_run(const Row& row) {
  TableFacts facts = facts_of("megatron_ci_7b_memory.csv");
  const std::string gpu = row.table.text(row.index, "gpu");
  facts.device = gpu == "A100" ? "A100-80G" : gpu == "H100" ? "H100-SXM" : gpu;
  MeasuredRun run;
  run.id = fmt::format("{}#{}", row.table.name, row.index + 1);
  run.label = "7B on 8 " + gpu;
  run.model = ci_model();
  run.plan = plan_of(row, facts);
  run.cluster = cluster_of(row, facts, run.plan.num_devices());
  run.seconds = seconds_of(row);
  return run;
}

void add_selective(const Row& row, std::vector<MeasuredRun>& runs) {
  TableFacts facts = facts_of(row.table.name);
  MeasuredRun full = run_of(row, facts);
  full.id += "f", full.label += " full";
  full.seconds = row.number("full_s", 0, true);
  runs.push_back(full);
  MeasuredRun present = full;
  present.id.back() = 's';
  present.label = present.label.substr(0, present.label.size() - 4) + "selective+sp";
  present.plan.recompute = Recompute::selective;
  present.plan.sequence_parallel = true;
  present.seconds = row.number("present_s", 0, true);
  runs.push_back(present);
}

/// The zero-bubble models: layers, heads, hidden, micro-batch (their tables name them by size).
ModelSpec zero_bubble_model(const std::string& size, int& micro_batch) {
  struct Known {
    const char* size;
    int layers, heads, hidden, micro_batch;
  };
  static constexpr Known kModels[] = {{"1.5B", 22, 24, 2304, 6},
                                      {"6.2B", 30, 32, 4096, 3},
                                      {"14.6B", 46, 40, 5120, 1},
                                      {"28.3B", 62, 48, 6144, 1}};
  ModelSpec spec;
  spec.name = size;
  for (const Known& known : kModels) {
    if (size != known.size) continue;
    spec.layers = known.layers, spec.heads = known.heads, spec.hidden = known.hidden;
    micro_batch = known.micro_batch;
  }
  spec.vocab = 50304, spec.sequence = 1024;
  spec.biases = spec.dropout = spec.learned_positions = spec.tied_embeddings = true;
  return spec;
}

/// The 1F1B column, samples a second and device: one pipeline over p devices.
MeasuredRun zero_bubble_run(const Row& row) {
  MeasuredRun run;
  const std::string size = row.table.text(row.index, "model");
  int micro_batch = 1;
  auto model = resolve(zero_bubble_model(size, micro_batch));
  if (!model.ok()) {
    row.problems.push_back(std::move(model).error());
    return run;
  }
  run.model = std::move(model).value();
  run.plan.pipeline_parallel = row.whole("p", 1, true);
  run.plan.micro_batch = micro_batch;
  run.plan.global_batch = std::int64_t{micro_batch} * row.whole("m", 1, true);
  run.plan.precision = Precision::fp16;
  run.id = fmt::format("{}#{}", row.table.name, row.index + 1);
  run.label =
      fmt::format("{} pp{} m{}", size, run.plan.pipeline_parallel, run.plan.num_micro_batches());
  run.cluster = cluster_of(row, facts_of(row.table.name), run.plan.num_devices());
  run.seconds =
      double(run.plan.global_batch) / (row.number("f1b", 1, true) * double(run.plan.num_devices()));
  return run;
}

void add_runs(const Row& row, std::vector<MeasuredRun>& runs) {
  const std::string& name = row.table.name;
  if (name == "selective_recompute_a100.csv") return add_selective(row, runs);
  if (name == "megatron_ci_7b_memory.csv") return runs.push_back(ci_run(row));
  if (name == "zero_bubble_a100.csv") return runs.push_back(zero_bubble_run(row));
  MeasuredRun run = run_of(row, facts_of(name));
  if (name == "megatron_h100_first3.csv") {
    // Published as TFLOP/s a device.
    const double flops = workload_of(run.model).model_flops() * double(run.plan.global_batch);
    run.seconds =
        flops / (row.number("tflops_per_gpu", 1, true) * 1e12 * double(run.plan.num_devices()));
  } else {
    run.seconds = seconds_of(row);
  }
  runs.push_back(std::move(run));
}

}  // namespace

const std::vector<TrainingTable>& training_tables() {
  static const std::vector<TrainingTable> tables = {
      {"vtrain_multinode_a100.csv", 73},     {"megatron_sc21_a100.csv", 10},
      {"selective_recompute_a100.csv", 4},   {"selective_recompute_layer_22b.csv", 5},
      {"selective_recompute_memory.csv", 4}, {"megatron_h100_first3.csv", 3},
      {"megatron_ci_7b_memory.csv", 3},      {"moe_layer_h100.csv", 7},
      {"nccl_allreduce_a100.csv", 6},        {"zero_bubble_a100.csv", 12},
      {"zero_bubble_v_a100.csv", 9}};
  return tables;
}

Result<CsvTable> training_table(std::string_view name) {
  for (const auto& table : training_tables()) {
    if (table.name != name) continue;
    for (const auto& file : training_files()) {
      if (file.name == name) return parse_csv(file.text, name, table.num_rows);
    }
  }
  return not_found("there is no training table '{}'", name);
}

Result<std::vector<MeasuredRun>> training_runs(std::string_view name) {
  const CsvTable table = TENON_TRY(training_table(name));
  std::vector<MeasuredRun> runs;
  std::vector<Error> problems;
  for (std::size_t i = 0; i < table.rows.size(); ++i) add_runs({table, i, problems}, runs);
  if (!problems.empty()) return all_of(std::move(problems));
  return runs;
}

namespace {

template <class Enum>
void choose(const Row& row, const char* column, int count, Enum& value) {
  const std::string cell = row.table.text(row.index, column);
  if (cell.empty()) return;
  for (int i = 0; i < count; ++i) {
    if (name(static_cast<Enum>(i)) == cell) {
      value = static_cast<Enum>(i);
      return;
    }
  }
  row.problems.push_back(invalid("{} has no choice '{}'", column, cell)
                             .at(fmt::format("{} row {}", row.table.name, row.index + 1)));
}

bool truth(const std::string& cell) { return cell == "1" || cell == "true" || cell == "True"; }

MeasuredRun point_run(const Row& row, const std::string& device) {
  TableFacts facts;
  facts.precision = Precision::bf16;
  facts.device = row.table.text(row.index, "device");
  if (facts.device.empty()) facts.device = device;
  choose(row, "kind", static_cast<int>(ModelKind::multimodal) + 1, facts.kind);
  choose(row, "recompute", 3, facts.recompute);
  choose(row, "precision", kNumPrecisions, facts.precision);
  facts.sequence_parallel = truth(row.table.text(row.index, "sequence_parallel"));
  facts.zero_stage = static_cast<int>(row.number("zero_stage", 0));
  facts.gbytes_per_second = row.number("gbytes_per_second", 0);
  MeasuredRun run = run_of(row, facts);
  choose(row, "schedule", kNumSchedules, run.plan.schedule);
  run.seconds = seconds_of(row);
  if (!(run.seconds > 0)) {
    row.problems.push_back(invalid("the step time must be above zero, got {}", run.seconds)
                               .at(fmt::format("{} row {}", row.table.name, row.index + 1)));
  }
  return run;
}

}  // namespace

Result<std::vector<MeasuredRun>> runs_of_points(const CsvTable& table, const std::string& device) {
  std::vector<MeasuredRun> runs;
  std::vector<Error> problems;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    runs.push_back(point_run({table, i, problems}, device));
  }
  if (!problems.empty()) return all_of(std::move(problems));
  return runs;
}

}  // namespace tenon::planner
