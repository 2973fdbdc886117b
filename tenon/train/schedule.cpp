// Factors as closed formulas, so that any step can be reached without the ones before.
#include "tenon/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tenon::train {
namespace {

const std::vector<std::string> kNames = {"constant", "linear", "cosine", "step"};

}  // namespace

double Schedule::factor(std::int64_t step, std::int64_t total) const {
  if (step <= warmup) return static_cast<double>(step) / static_cast<double>(warmup);
  const auto after = static_cast<double>(step - 1 - warmup),
             room = static_cast<double>(std::max<std::int64_t>(1, total - 1 - warmup)),
             done = std::clamp(after / room, 0.0, 1.0);
  switch (kind) {
    case Kind::constant: return 1;
    case Kind::linear: return 1 + (floor - 1) * done;
    case Kind::cosine: return floor + (1 - floor) * 0.5 * (1 + std::cos(std::numbers::pi * done));
    case Kind::step: return std::pow(gamma, std::floor(after / static_cast<double>(every)));
  }
  return 1;
}

Schedule read_schedule(ObjectReader& keys) {
  Schedule s;
  int kind = 0;
  keys.choice("kind", kNames, kind);
  s.kind = static_cast<Schedule::Kind>(kind);
  keys.integer("warmup_steps", s.warmup, 0);
  keys.number("floor", s.floor, 0, 1);
  keys.integer("every", s.every, 1);
  keys.number("gamma", s.gamma, 0, 1);
  return s;
}

Json to_json(const Schedule& s) {
  return {{"kind", kNames[static_cast<std::size_t>(s.kind)]},
          {"warmup_steps", s.warmup},
          {"floor", s.floor},
          {"every", s.every},
          {"gamma", s.gamma}};
}

}  // namespace tenon::train
