#include "tenon/planner/search/policy.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tenon/machine/embedded_file.h"

namespace tenon {
/// data/planner/*.json.
std::span<const EmbeddedFile> planner_files();
}  // namespace tenon

namespace tenon::planner {
namespace {

double clipped_log2(double value, double scale) {
  return std::clamp(std::log2(std::max(value, 1e-9)) / scale, -1.0, 1.0);
}

}  // namespace

PolicyFeatures policy_features(const Plan& plan, const Price& price,
                               const std::vector<StagePrediction>& stages, const Pricer& pricer) {
  const double step = price.step_seconds;
  const double pressure = (price.memory.total() + price.reserve_bytes) / price.capacity_bytes;
  double slowest = 0, sum = 0;
  for (const StagePrediction& stage : stages) {
    const double seconds = stage.forward_seconds + stage.backward_seconds();
    slowest = std::max(slowest, seconds), sum += seconds;
  }
  const double mean = sum / std::max<double>(1, static_cast<double>(stages.size()));
  const double node = static_cast<double>(pricer.cluster().levels().front().devices);
  const double rounds = static_cast<double>(plan.num_micro_batches()) / plan.pipeline_parallel;
  return {1,
          std::clamp(pressure - 1, -1.0, 1.0),
          pressure > 1 ? 1.0 : 0.0,
          price.compute_seconds / step,
          price.exposed_communication_seconds / step,
          price.bubble_seconds / step,
          price.optimizer_seconds / step,
          price.memory.activations / std::max(1.0, price.memory.total()),
          mean > 0 ? std::min(1.0, slowest / mean - 1) : 0,
          clipped_log2(rounds, 5),
          clipped_log2(plan.tensor_parallel / node, 4),
          clipped_log2(plan.data_parallel, 12),
          plan.recompute == Recompute::none        ? 0.0
          : plan.recompute == Recompute::selective ? 0.5
                                                   : 1.0,
          pricer.cluster().is_homogeneous() ? 0.0 : 1.0};
}

std::array<double, num_moves> MovePolicy::probabilities(const PolicyFeatures& features) const {
  std::array<double, num_moves> p{};
  double highest = -1e300, total = 0;
  for (int i = 0; i < num_moves; ++i) {
    for (int f = 0; f < num_policy_features; ++f) p[i] += weights_[i][f] * features[f];
    highest = std::max(highest, p[i]);
  }
  for (double& value : p) total += value = std::exp(value - highest);
  for (double& value : p) value /= total;
  return p;
}

std::vector<Move> MovePolicy::order(const PolicyFeatures& features) const {
  const auto p = probabilities(features);
  std::vector<Move> moves;
  for (int i = 0; i < num_moves; ++i) moves.push_back(static_cast<Move>(i));
  std::stable_sort(moves.begin(), moves.end(),
                   [&](Move a, Move b) { return p[static_cast<int>(a)] > p[static_cast<int>(b)]; });
  return moves;
}

void MovePolicy::learn(const PolicyFeatures& features, Move move, double advantage, double rate) {
  const auto p = probabilities(features);
  for (int i = 0; i < num_moves; ++i) {
    const double gradient = (i == static_cast<int>(move) ? 1 : 0) - p[i];
    for (int f = 0; f < num_policy_features; ++f)
      weights_[i][f] += rate * advantage * gradient * features[f];
  }
}

const MovePolicy& MovePolicy::shipped() {
  static const MovePolicy policy = [] {
    for (const EmbeddedFile& file : planner_files()) {
      if (file.name != "move_policy.json") continue;
      Result<MovePolicy> parsed = parse(file.text, file.name);
      TENON_CHECK(parsed.ok(), "the shipped policy: {}", parsed.ok() ? "" : parsed.error().text());
      return *parsed;
    }
    TENON_CHECK(false, "no move_policy.json was compiled in");
  }();
  return policy;
}

Result<MovePolicy> MovePolicy::parse(std::string_view text, std::string_view where) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("weights"))
    return invalid("a move policy needs weights").at(where);
  MovePolicy policy;
  for (int i = 0; i < num_moves; ++i) {
    const std::string move(name(static_cast<Move>(i)));
    const auto at = json["weights"].find(move);
    if (at == json["weights"].end() || !at->is_array() || at->size() != num_policy_features) {
      return invalid("the move policy needs {} weights for {}", num_policy_features, move)
          .at(where);
    }
    for (int f = 0; f < num_policy_features; ++f) {
      if (!(*at)[f].is_number())
        return invalid("weight {} of {} is not a number", f, move).at(where);
      policy.weights_[i][f] = (*at)[f].get<double>();
    }
  }
  return policy;
}

std::string MovePolicy::to_text() const {
  nlohmann::ordered_json weights;
  for (int i = 0; i < num_moves; ++i) {
    nlohmann::ordered_json row = nlohmann::ordered_json::array();
    for (const double weight : weights_[i]) row.push_back(std::round(weight * 1e4) / 1e4);
    weights[std::string(name(static_cast<Move>(i)))] = std::move(row);
  }
  std::string text = "{\"weights\": {\n";
  bool first = true;
  for (const auto& [move, row] : weights.items()) {
    text += std::string(first ? "" : ",\n") + "  \"" + move + "\": " + row.dump();
    first = false;
  }
  return text + "\n}}\n";
}

}  // namespace tenon::planner
