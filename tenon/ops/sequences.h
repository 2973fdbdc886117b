// Shared by the sequence and optional pages.
#pragma once

#include "tenon/ops/movements.h"

namespace tenon::ops {

/// A page with what sequences have in common; refine the returned record.
inline OpPage sequence_page(std::string_view name, std::string_view doc) {
  OpPage p;
  p.name = name;
  p.doc = doc;
  p.traits = {Trait::sequence};
  p.decompose = none("core: handles sequences, which no other operator does");
  p.cost = cost_movement;
  p.sharding = [](const Call& c) -> Result<Factors> {
    return all_whole(c);
  };  // a sequence lies whole on every peer
  return p;
}

inline InputSpec sequence_input(std::string_view name, TypeSet types = kAny) {
  return {name, types, "T", Arity::one, Holds::sequence};
}
inline InputSpec position_input() { return maybe("position", kIndex, "I"); }

/// The value of `input` as a position among `size` items, negative ones counted from the end;
/// `other` without it.
Result<std::size_t> position_in(const EvalCall& e, int input, std::int64_t size,
                                std::int64_t other);
/// Pieces of x along an axis, of these widths; without that axis (widths of 1) if not `keep`.
Datum pieces(const Tensor& x, int axis, const std::vector<std::int64_t>& widths, bool keep);

}  // namespace tenon::ops
