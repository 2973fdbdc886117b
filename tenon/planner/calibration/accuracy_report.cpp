// Measuring the planner against the published tables.
#include "tenon/planner/calibration/accuracy_report.h"

#include <cmath>

#include "tenon/planner/pricer.h"

namespace tenon::planner {
namespace {

SplitAccuracy measure(CalibrationSplit split, FitResult fit) {
  SplitAccuracy result;
  int within = 0;
  for (const auto& run : split.test) {
    Pricer pricer(workload_of(run.model), run.cluster, {fit.calibration});
    const Prediction p = predict(pricer, run.plan);
    result.test.push_back({run.id, run.label, run.seconds, p.step_seconds});
    within += std::abs(result.test.back().relative_error()) <= p.uncertainty;
    result.predictions.push_back(p);
  }
  result.summary = summarise(result.test);
  if (!result.test.empty()) result.within_sigma = double(within) / double(result.test.size());
  result.split = std::move(split);
  result.fit = std::move(fit);
  return result;
}

Result<FitResult> fit_of(std::string_view name) {
  const auto splits = TENON_TRY(training_splits());
  for (const auto& split : splits) {
    if (split.name == name) return fit_split(split);
  }
  return not_found("there is no calibration '{}' in the split", name);
}

/// A device model of `count` devices of one kind.
Result<DeviceModel> model_of(std::string_view device, int count, const Efficiency& efficiency) {
  const Cluster cluster = TENON_TRY(uniform_cluster(device, count));
  return DeviceModel{cluster.groups[0].device, efficiency, cluster.levels()};
}

LayerPrice block_of(const Workload& w, const Strategy& strategy, const DeviceModel& model) {
  LayerPrice price;
  for (int c : w.block_types[0].classes) {
    price += price_layer(w.classes[static_cast<std::size_t>(c)], strategy, model);
  }
  return price;
}

}  // namespace

Result<std::vector<SplitAccuracy>> measure_accuracy() {
  std::vector<SplitAccuracy> result;
  auto splits = TENON_TRY(training_splits());
  for (auto& split : splits) {
    FitResult fit = TENON_TRY(fit_split(split));
    result.push_back(measure(std::move(split), std::move(fit)));
  }
  return result;
}

Result<std::vector<GroupRanking>> measure_ranking() {
  const FitResult fit = TENON_TRY(fit_of("A100-80G.megatron-deepspeed"));
  const auto runs = TENON_TRY(training_runs("vtrain_multinode_a100.csv"));
  const auto rows = residuals_of(runs, fit.calibration);
  std::vector<GroupRanking> result;
  for (const char* group : {"3.6B", "39.1B", "39.1B tp8"}) {
    std::vector<Residual> members;
    for (const auto& row : rows) {
      const bool left_out = row.id.ends_with("#16");
      if (row.label.starts_with(group) && !left_out) members.push_back(row);
    }
    result.push_back({group, static_cast<int>(members.size()), rank_quality(members)});
  }
  return result;
}

Result<std::vector<Comparison>> compare_memory() {
  const CsvTable table = TENON_TRY(training_table("megatron_ci_7b_memory.csv"));
  const auto runs = TENON_TRY(training_runs("megatron_ci_7b_memory.csv"));
  std::vector<Comparison> result;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Pricer pricer(workload_of(runs[i].model), runs[i].cluster);
    result.push_back({runs[i].label, TENON_TRY(table.number(i, "peak_bytes")),
                      pricer.price(runs[i].plan).memory.total()});
  }
  return result;
}

Result<std::vector<Comparison>> compare_layer() {
  const FitResult fit = TENON_TRY(fit_of("A100-80G.megatron-2022"));
  const CsvTable table = TENON_TRY(training_table("selective_recompute_layer_22b.csv"));
  const Workload w = workload_of(TENON_TRY(model_named("gpt-22b")));
  const DeviceModel model = TENON_TRY(model_of("A100-80G", 8, fit.calibration.efficiency));
  std::vector<Comparison> result;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const std::string mode = table.text(i, "mode");
    Strategy s;
    s.tensor = 8, s.micro_batch = 4, s.precision = Precision::fp16;
    s.sequence = mode == "seq_parallel" || mode == "selective_seq";
    const LayerPrice b = block_of(w, s, model);
    double backward = b.backward_input + b.backward_weight + b.backward_comm;
    if (mode == "full_recompute") backward += b.forward + b.forward_comm;
    if (mode.starts_with("selective")) backward += b.core_forward;
    result.push_back({mode + " forward", TENON_TRY(table.number(i, "fwd_ms")),
                      (b.forward + b.forward_comm) * 1e3});
    result.push_back({mode + " backward", TENON_TRY(table.number(i, "bwd_ms")), backward * 1e3});
  }
  return result;
}

Result<std::vector<Comparison>> compare_all_reduce() {
  const CsvTable table = TENON_TRY(training_table("nccl_allreduce_a100.csv"));
  const DeviceModel model = TENON_TRY(model_of("A100-80G", 8, Efficiency{}));
  std::vector<Comparison> result;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const double mib = TENON_TRY(table.number(i, "mib"));
    for (int peers : {2, 4, 8}) {
      const GroupLinks group = group_links(model.levels, model.efficiency, peers, 1);
      result.push_back({fmt::format("{} MiB on {}", mib, peers),
                        TENON_TRY(table.number(i, fmt::format("us_{}gpu", peers))),
                        all_reduce_seconds(group, mib * 1024 * 1024) * 1e6});
    }
  }
  return result;
}

namespace {

/// The expert layer as the benchmark builds it: routing forced to be even, no shared expert, and
/// neither norm nor residual around it.
Result<LayerClass> benchmarked_experts(const std::string& proxy) {
  ModelSpec spec = TENON_TRY(model_named(proxy == "mixtral" ? "mixtral-8x7b" : "deepseek-v3"));
  if (proxy == "deepseek") spec.experts = 32, spec.shared_experts = 0;
  for (LayerClass layer : workload_of(spec).classes) {
    if (layer.kind != LayerKind::experts) continue;
    std::erase_if(layer.ops,
                  [](const LayerOp& op) { return op.name == "norm" || op.name == "residual_add"; });
    return layer;
  }
  return not_found("{} has no expert layer", proxy);
}

}  // namespace

Result<std::vector<Comparison>> compare_experts() {
  const FitResult fit = TENON_TRY(fit_of("H100-SXM.megatron-core-0.8"));
  const CsvTable table = TENON_TRY(training_table("moe_layer_h100.csv"));
  DeviceModel model = TENON_TRY(model_of("H100-SXM", 8, fit.calibration.efficiency));
  // A few milliseconds at a time, with waits between: the clock stays at what the data sheet
  // counts.
  model.device.sustained = 1;
  std::vector<Comparison> result;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const std::string proxy = table.text(i, "proxy"), precision = table.text(i, "prec");
    const std::string dispatcher = table.text(i, "dispatcher");
    const LayerClass layer = TENON_TRY(benchmarked_experts(proxy));
    Strategy s;
    s.expert = 8;
    s.precision = precision == "fp8" ? Precision::fp8 : Precision::bf16;
    model.efficiency.sends_token_once = dispatcher != "a2a";
    const LayerPrice p = price_layer(layer, s, model);
    const std::string what = proxy + " " + dispatcher + " " + precision;
    result.push_back({what + " forward", TENON_TRY(table.number(i, "fwd_ms")),
                      (p.forward + p.forward_comm) * 1e3});
    result.push_back({what + " backward", TENON_TRY(table.number(i, "bwd_ms")),
                      (p.backward_input + p.backward_weight + p.backward_comm) * 1e3});
  }
  return result;
}

}  // namespace tenon::planner
