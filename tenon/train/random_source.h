// Samples drawn at random, for benchmarks: `[data] kind = "random"`.
#pragma once

#include "tenon/base/json.h"
#include "tenon/dataset/source.h"

namespace tenon::train {

/// Reads `samples` and the tables `fields.NAME = {dims = [..], below = N}`: integers i64 in
/// [0, below), or standard normal f32 without `below`; `uniform = true`: f32 in [0, 1).
Result<dataset::SourcePtr> random_source(const Json& data, const std::string& where,
                                         std::uint64_t seed);

}  // namespace tenon::train
