// The learning rate of every step.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/base/json.h"
#include "tenon/base/object_reader.h"

namespace tenon::train {

/// rate = base x a factor that first rises evenly from 0 over `warmup` steps, then follows `kind`:
/// `constant` 1; `linear` from 1 to `floor` at the last step; `cosine` the same along half a cosine
/// (Loshchilov and Hutter 2016, arXiv 1608.03983); `step` times `gamma` every `every` steps.
struct Schedule {
  enum class Kind : std::uint8_t { constant, linear, cosine, step };
  Kind kind = Kind::constant;
  std::int64_t warmup = 0;
  double floor = 0;
  std::int64_t every = 1000;
  double gamma = 0.1;

  /// The factor of step 1, 2, ... of `total`.
  double factor(std::int64_t step, std::int64_t total) const;
};

/// Reads the section [schedule]; problems go to the reader.
Schedule read_schedule(ObjectReader& keys);
Json to_json(const Schedule& schedule);

}  // namespace tenon::train
