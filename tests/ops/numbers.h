// Numbers for tests: invented ones, the same on every run, and how far two of them are apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/ir/operator.h"

namespace tenon::ops {

// SplitMix64: a few independent numbers per sample, the same on every run.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  double uniform() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
  }

 private:
  std::uint64_t state_;
};

/// Relative beyond 1, absolute below; infinite when only one is NaN.
inline double difference(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b) ? 0 : std::numeric_limits<double>::infinity();
  if (a == b) return 0;
  return std::fabs(a - b) / std::max({1.0, std::fabs(a), std::fabs(b)});
}

/// The sample's tolerance, or the check's own.
inline double tolerance(const Sample& s, double standard) {
  return s.tolerance > 0 ? s.tolerance : standard;
}

}  // namespace tenon::ops
