#include "tenon/planner/largest_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenon/base/interrupt.h"

namespace tenon::planner {
namespace {

constexpr int kStepsPerDoubling = 8;
constexpr int kSmallest = -80, kLargest = 120;  // of the family's own size: 2^-10 to 2^15

int rounded(double value, int unit) {
  return std::max(unit, static_cast<int>(std::llround(value / unit)) * unit);
}

void scale_transformer(ModelSpec& m, double factor) {
  // Parameters grow with layers x width^2, and both grow alike.
  const double each = std::cbrt(factor);
  const bool square = m.heads * m.head_dim == m.hidden || m.kv_rank > 0;
  const bool grouped = m.kv_heads != m.heads;
  const int unit = grouped ? m.kv_heads : std::min(8, m.heads);
  const int heads = rounded(m.heads * each, unit);
  const double width = square ? static_cast<double>(heads) / m.heads : each;
  const auto wide = [&](int size) { return size > 0 ? rounded(size * width, 64) : 0; };
  m.hidden = square ? static_cast<int>(std::llround(m.hidden * width)) : wide(m.hidden);
  m.ffn = wide(m.ffn), m.expert_ffn = wide(m.expert_ffn);
  m.heads = heads;
  if (!grouped) m.kv_heads = heads;
  m.layers = std::max(1, static_cast<int>(std::llround(m.layers * each)));
  if (m.decoder_layers > 0) m.decoder_layers = m.layers;
  m.dense_layers = std::min(m.dense_layers, m.layers - 1);
}

std::int64_t batch_of(const ModelSpec& model, const LargestRequest& request) {
  if (request.samples > 0) return static_cast<std::int64_t>(request.samples);
  const double tokens = workload_of(model).tokens_per_sample;
  if (tokens <= 0) return 1024;
  return std::max<std::int64_t>(1, std::llround((1 << 22) / tokens));
}

struct Step {
  ModelSpec model;
  Result<SparedSearch> found;
};

Result<Step> try_step(const ModelSpec& family, const Cluster& cluster,
                      const LargestRequest& request, int step) {
  TENON_TRY(check_interrupt());
  ModelSpec model = TENON_TRY(scaled(family, std::exp2(double(step) / kStepsPerDoubling)));
  SearchRequest search;
  search.global_batch = batch_of(model, request);
  search.fixed = request.fixed;
  search.max_evaluations = request.max_evaluations;
  auto found = search_with_spares(workload_of(model), cluster, {}, search);
  return Step{std::move(model), std::move(found)};
}

}  // namespace

Result<ModelSpec> scaled(const ModelSpec& model, double factor) {
  ModelSpec m = model;
  switch (m.kind) {
    case ModelKind::resnet:
      return unsupported("{} has no family that grows in width and depth", m.name);
    case ModelKind::dlrm:
      m.table_rows = std::max<std::int64_t>(1, std::llround(double(m.table_rows) * factor));
      break;
    case ModelKind::multimodal: m.towers.back() = TENON_TRY(scaled(m.towers.back(), factor)); break;
    case ModelKind::gpt:
    case ModelKind::llama:
    case ModelKind::bert:
    case ModelKind::t5:
    case ModelKind::moe:
    case ModelKind::vit: scale_transformer(m, factor); break;
  }
  m.name = fmt::format("{} x {:.3g}", model.name, factor);
  return resolve(std::move(m));
}

Result<LargestModel> largest_model(const ModelSpec& family, const Cluster& cluster,
                                   const LargestRequest& request) {
  // The family's own size first: in most questions it is near.
  int low = kSmallest - 1, high = kLargest + 1, at = 0, stride = kStepsPerDoubling;
  std::optional<Step> best, next;
  while (high - low > 1) {
    Step step = TENON_TRY(try_step(family, cluster, request, at));
    if (step.found.ok()) {
      low = at, best.emplace(std::move(step));
    } else {
      high = at, next.emplace(std::move(step));
    }
    const bool open = !best || !next;
    if (open) {
      at = std::clamp(best ? at + stride : at - stride, kSmallest, kLargest);
      if (at == low || at == high) break;
      stride *= 2;
    } else {
      at = (low + high) / 2;
    }
  }
  if (!best) return std::move(next->found).error();
  if (!next) {
    ModelSpec larger = TENON_TRY(scaled(family, std::exp2(double(low + 1) / kStepsPerDoubling)));
    next.emplace(Step{std::move(larger), unsupported("larger models were not tried")});
  }
  LargestModel answer{
      best->model, workload_of(best->model).num_parameters(), std::move(best->found).value(),
      next->model, workload_of(next->model).num_parameters(), next->found.error().message};
  return answer;
}

}  // namespace tenon::planner
