// Shared by the random pages. Number k of a call depends on the attribute `seed`, the optional
// input `key` and k alone, so that any split, order or repetition of the work gives the same bits.
#pragma once

#include "tenon/ops/op_page.h"

namespace tenon::ops {

enum class Distribution : std::uint8_t { uniform, normal };

/// The optional last input: an integer that changes from step to step.
inline InputSpec key_input() { return maybe("key", TypeSet::one(DType::i64), "K"); }
/// Attributes of a distribution with the seed.
std::vector<AttrSpec> draw_attrs(Distribution distribution);
/// A page of the form x -> numbers of x's shape.
OpPage draw_like(std::string_view name, std::string_view doc, Distribution distribution);
/// A page of the form -> numbers of a shape given by the attribute `shape`.
OpPage draw_shaped(std::string_view name, std::string_view doc, Distribution distribution);

/// [0, 1) with 53 bits: number k of the call's stream.
double uniform_double(const EvalCall& e, int key_input, std::uint64_t k);

}  // namespace tenon::ops
