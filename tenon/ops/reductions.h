// Shared by the reduction pages: axes as an optional second input, `keepdims`.
#pragma once

#include "tenon/ops/op_page.h"

namespace tenon::ops {

/// Axes that a reduction call folds: input 1 when given and not empty, else all (or none with
/// `noop_with_empty_axes`). nullopt when the axes are computed at run time.
Result<std::optional<std::vector<int>>> reduced_axes(const Call& c);
Result<Types> infer_reduction(const Call& c);
/// Combines elements: acc = fold(acc, element), starting from `start`, then `finish(acc, count)`.
template <class W>
struct Fold {
  W start;
  std::function<W(W, W)> step;
  std::function<W(W, std::int64_t)> finish = [](W acc, std::int64_t) { return acc; };
};
template <class W>
Tensor reduce(const Tensor& x, const std::vector<int>& axes, bool keepdims, const Fold<W>& fold);
/// dy brought back to the rank of x (axes of size 1), so that it broadcasts against x.
Value* with_reduced_axes(B g, const Call& c, Value* y);
/// Factors of a reduction: kept axes go through, folded ones are reduced by `how` ("" = stay
/// whole).
Result<Factors> sharding_reduction(const Call& c, std::string_view how);
Cost cost_reduction(const Call& c);

/// Whether a goes before b in a search for the largest (or least): a NaN wins, u64 compares
/// unsigned.
template <class W>
bool beats(W a, W b, DType d, bool largest) {
  if constexpr (std::is_same_v<W, double>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  } else if (d == DType::u64) {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return largest ? x > y : x < y;
  }
  return largest ? a > b : a < b;
}
/// The page of reduce_max (`largest`) or reduce_min. Over nothing: the least (or largest) value.
OpPage reduce_extreme(std::string_view name, std::string_view doc, bool largest);

/// The same reduction of another value: axes and attributes are those of the call.
Values reduction_args(const Call& c, Value* x);
/// x in a type that squares, sums and roots do not overflow: f32 for smaller floats, f64 for
/// integers.
Value* widened(B g, Value* x);
/// How many elements are folded into one, as a 0-d value of `dtype`.
Value* folded_count(B g, const Call& c, DType dtype);

/// A reduction page with what all have in common; refine the returned record. `how` puts together
/// partial results of folded axes that are split ("sum", "max", "min", "prod"); "" keeps them
/// whole.
OpPage reduction(std::string_view name, std::string_view doc, TypeSet types, std::string_view how);

/// The inputs and attributes that every reduction has.
std::vector<InputSpec> reduction_inputs(TypeSet types);
std::vector<AttrSpec> reduction_attrs();

template <class W>
Tensor reduce(const Tensor& x, const std::vector<int>& axes, bool keepdims, const Fold<W>& fold) {
  Dims full = x.dims(), out;
  std::vector<bool> folded(full.size(), false);
  for (int a : axes) folded[static_cast<std::size_t>(a)] = true;
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (!folded[i])
      out.push_back(full[i]);
    else if (keepdims)
      out.push_back(1);
    if (folded[i]) full[i] = 1;
  }
  const auto values = wide<W>(x);
  std::vector<W> acc(static_cast<std::size_t>(num_elements(out)), fold.start);
  const Dims steps = broadcast_strides(full, x.dims());
  for_each_index(x.dims(), [&](const Dims& at, std::int64_t k) {
    W& a = acc[static_cast<std::size_t>(offset_of(at, steps))];
    a = fold.step(a, values[static_cast<std::size_t>(k)]);
  });
  const std::int64_t per_output =
      out.empty() || num_elements(out) == 0 ? x.count() : x.count() / num_elements(out);
  for (W& a : acc) a = fold.finish(a, per_output);
  return narrow(acc, x.dtype(), out);
}

}  // namespace tenon::ops
