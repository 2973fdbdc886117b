// Searching along an axis.
#include "tenon/ops/positions.h"

#include "tenon/ops/reductions.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked()) return Types{Type::unranked(DType::i64)};
  const int axis = TENON_TRY(c.axis(c.integer("axis"), x.ndim()));
  TENON_EXPECT(!(x.dim(axis) == Dim(0)), "an axis that is searched has elements", x);
  Shape out = x.shape();
  if (c.flag("keepdims"))
    out[static_cast<std::size_t>(axis)] = Dim(1);
  else
    out.erase(out.begin() + axis);
  return Types{Type(DType::i64, std::move(out))};
}

// The searched axis stays whole.
Result<Factors> sharding(const Call& c) {
  const int axis = TENON_TRY(c.axis(c.integer("axis"), c.in(0).ndim()));
  std::vector<std::string> in, out;
  for (int i = 0; i < c.in(0).ndim(); ++i) {
    in.push_back(i == axis ? "" : fmt::format("d{}", i));
    if (i != axis || c.flag("keepdims")) out.push_back(in.back());
  }
  Factors f;
  f.inputs = {in};
  f.outputs = {out};
  return f;
}

// One run of `size` elements, `step` apart.
template <class W>
std::int64_t best(const std::vector<W>& x, std::size_t start, std::int64_t size, std::size_t step,
                  DType d, bool largest, bool last) {
  std::int64_t found = 0;
  for (std::int64_t i = 1; i < size; ++i) {
    const W a = x[start + static_cast<std::size_t>(i) * step],
            b = x[start + static_cast<std::size_t>(found) * step];
    if (beats(a, b, d, largest) || (last && !beats(b, a, d, largest))) found = i;
  }
  return found;
}

}  // namespace

Result<Datums> find_extreme(const EvalCall& e, bool largest) {
  const Tensor& x = e.in(0);
  const int axis = TENON_TRY(e.call.axis(e.call.integer("axis"), x.ndim()));
  const std::int64_t size = x.dim(axis),
                     inner = num_elements(Dims(x.dims().begin() + axis + 1, x.dims().end()));
  if (size == 0) return invalid("{}: an axis without elements has none to find", e.call.op().name);
  const bool last = e.call.flag("select_last_index");
  Dims out = x.dims();
  if (e.call.flag("keepdims"))
    out[static_cast<std::size_t>(axis)] = 1;
  else
    out.erase(out.begin() + axis);
  return visit_real(x.dtype(), [&](auto w) {
    const auto values = wide<decltype(w)>(x);
    std::vector<std::int64_t> at(static_cast<std::size_t>(num_elements(out)));
    for (std::size_t k = 0; k < at.size(); ++k) {
      const auto outer = static_cast<std::int64_t>(k) / inner,
                 within = static_cast<std::int64_t>(k) % inner;
      at[k] = best(values, static_cast<std::size_t>(outer * size * inner + within), size,
                   static_cast<std::size_t>(inner), x.dtype(), largest, last);
    }
    return Datums{Datum(from_int64s(at, DType::i64, out))};
  });
}

OpPage position_page(std::string_view name, std::string_view doc) {
  OpPage p;
  p.name = name;
  p.doc = doc;
  p.inputs = {{"x", kNumeric}};
  p.attrs = {{"axis", 0}, {"keepdims", true}, {"select_last_index", false}};
  p.traits = {Trait::reduction};
  p.infer = infer;
  p.decompose = none("core");
  p.gradient = none("integer result");
  p.cost = cost_reduction;
  p.sharding = sharding;
  p.samples = {sample({{2, 3, 4}}),
               sample({{2, 3, 4}}).with({{"axis", -2}, {"keepdims", false}}),
               sample({{6}}).all(DType::i8).range(0, 2).with({{"select_last_index", true}}),
               sample({{2, 0}}),
               rejects({{2, 3}}, "axis 2 is outside").with({{"axis", 2}}),
               rejects({{2, 0}}, "has elements").with({{"axis", 1}})};
  return p;
}

}  // namespace tenon::ops
