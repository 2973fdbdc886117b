// Running folds along an axis.
#include "tenon/ops/scans.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  if (c.in(1).ranked())
    TENON_EXPECT(!(c.in(1).count().is_constant()) || c.in(1).count() == Dim(1),
                 "axis is one number", c.in(1));
  TENON_TRY(scanned_axis(c));
  return Types{c.in(0)};
}

// The scanned axis stays whole; all do while it is not known.
Result<Factors> sharding(const Call& c) {
  const auto axis = TENON_TRY(scanned_axis(c));
  std::vector<std::string> names;
  for (int i = 0; i < c.in(0).ndim(); ++i)
    names.push_back(!axis || i == *axis ? "" : fmt::format("d{}", i));
  Factors f;
  f.inputs = {names, std::vector<std::string>(static_cast<std::size_t>(c.in(1).ndim()), "")};
  f.outputs = {names};
  return f;
}

template <class W>
void run(std::vector<W>& x, std::size_t first, std::int64_t size, std::size_t step, bool reverse,
         bool exclusive, W acc, W (*fold)(W, W)) {
  for (std::int64_t i = 0; i < size; ++i) {
    W& at = x[first + static_cast<std::size_t>(reverse ? size - 1 - i : i) * step];
    const W next = fold(acc, at);
    at = exclusive ? acc : next;
    acc = next;
  }
}

}  // namespace

Result<std::optional<int>> scanned_axis(const Call& c) {
  auto known = c.known_integers(1);
  if (!known || !c.in(0).ranked()) return std::optional<int>();
  return std::optional(TENON_TRY(c.axis(known->front(), c.in(0).ndim())));
}

Result<Datums> scan(const EvalCall& e, std::int64_t start, double (*step)(double, double),
                    std::int64_t (*integer_step)(std::int64_t, std::int64_t)) {
  const Tensor& x = e.in(0);
  const int axis = *TENON_TRY(scanned_axis(e.call));
  const bool reverse = e.call.flag("reverse"), exclusive = e.call.flag("exclusive");
  const std::int64_t size = x.dim(axis),
                     inner = num_elements(Dims(x.dims().begin() + axis + 1, x.dims().end()));
  return visit_real(x.dtype(), [&](auto w) {
    using W = decltype(w);
    W (*fold)(W, W);
    if constexpr (std::is_same_v<W, double>)
      fold = step;
    else
      fold = integer_step;
    auto values = wide<W>(x);
    for (std::int64_t k = 0; size > 0 && k < x.count() / size; ++k) {
      const auto first = static_cast<std::size_t>(k / inner * size * inner + k % inner);
      run(values, first, size, static_cast<std::size_t>(inner), reverse, exclusive,
          static_cast<W>(start), fold);
    }
    return Datums{Datum(narrow(values, x.dtype(), x.dims()))};
  });
}

OpPage scan_page(std::string_view name, std::string_view doc) {
  const auto at = [](std::int64_t axis) { return Tensor::scalar(axis); };
  OpPage p;
  p.name = name;
  p.doc = doc;
  p.inputs = {{"x", kNumeric}, {"axis", kIndex, "I"}};
  p.attrs = {{"exclusive", false}, {"reverse", false}};
  p.infer = infer;
  p.decompose = none("core");
  p.cost = [](const Call& c) { return Cost{c.in(0).count(), c.bytes_in(), c.bytes_out()}; };
  p.sharding = sharding;
  p.samples = {sample({{5}, {}}).known(1, at(0)),
               sample({{2, 3, 4}, {}}).known(1, at(-2)).with({{"exclusive", true}}),
               sample({{4, 3}, {}}).known(1, at(0)).with({{"reverse", true}}),
               sample({{2, 4}, {1}})
                   .known(1, Tensor::vector<std::int64_t>({1}))
                   .with({{"exclusive", true}, {"reverse", true}}),
               sample({{5}, {}})
                   .dtypes({DType::i32, DType::i32})
                   .range(-9, 9)
                   .known(1, Tensor::scalar<std::int32_t>(0)),
               sample({{2, 0}, {}}).known(1, at(1)),
               rejects({{2, 3}, {}}, "axis 2 is outside").known(1, at(2))};
  return p;
}

}  // namespace tenon::ops
