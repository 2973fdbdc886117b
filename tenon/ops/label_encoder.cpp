// label_encoder(x; keys, values, default): each element looked up in a table.
#include <cmath>
#include <map>

#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Tensor &keys = c.tensor("keys"), &values = c.tensor("values"), &other = c.tensor("default");
  TENON_EXPECT(keys.dtype() == c.in(0).dtype(), "keys have x's element type", Type::of(keys),
               c.in(0));
  TENON_EXPECT(keys.count() == values.count(), "keys.count == values.count", Type::of(keys),
               Type::of(values));
  TENON_EXPECT(other.count() == 1 && other.dtype() == values.dtype(),
               "default is one of the values' type", Type::of(other), Type::of(values));
  return Types{c.in(0).with_dtype(values.dtype())};
}

// NaN, the only key that is unequal to itself, is moved out of the order.
struct Before {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    if constexpr (std::is_floating_point_v<T>)
      if (a != a || b != b) return a == a && b != b;
    return a < b;
  }
};

template <class Key>
Tensor look_up(const std::vector<Key>& x, const std::vector<Key>& keys, const Tensor& values,
               const Tensor& other, Dims dims) {
  std::map<Key, std::int64_t, Before> rows;
  for (std::size_t i = 0; i < keys.size(); ++i) rows.emplace(keys[i], static_cast<std::int64_t>(i));
  Tensor y(values.dtype(), std::move(dims));
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto found = rows.find(x[i]);
    if (found == rows.end())
      copy_run(other, 0, y, static_cast<std::int64_t>(i), 1);
    else
      copy_run(values, found->second, y, static_cast<std::int64_t>(i), 1);
  }
  return y;
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor &x = e.in(0), &keys = e.call.tensor("keys"), &values = e.call.tensor("values"),
               &other = e.call.tensor("default");
  const auto texts = [](const Tensor& t) {
    return std::vector<std::string>(t.data<std::string>().begin(), t.data<std::string>().end());
  };
  if (x.dtype() == DType::string)
    return Datums{Datum(look_up(texts(x), texts(keys), values, other, x.dims()))};
  if (is_floating(x.dtype()))
    return Datums{Datum(look_up(to_doubles(x), to_doubles(keys), values, other, x.dims()))};
  return Datums{Datum(look_up(to_int64s(x), to_int64s(keys), values, other, x.dims()))};
}

// One search in a sorted table, taken as 10 comparisons
Cost cost(const Call& c) { return {c.in(0).count() * Dim(10), c.bytes_in(), c.bytes_out()}; }

}  // namespace

OpPage label_encoder() {
  const auto table = [](Tensor keys, Tensor values, Tensor other) {
    return Attrs{
        {"keys", std::move(keys)}, {"values", std::move(values)}, {"default", std::move(other)}};
  };
  const Tensor words = Tensor::vector<std::string>({"a", "b", "c"}),
               numbers = Tensor::vector<std::int64_t>({10, 20, 30});
  return {.name = "label_encoder",
          .doc =
              "y = values[i] where keys[i] == x, else default; of equal keys the first counts, and "
              "a NaN key stands for every NaN",
          .inputs = {{"x", kNumeric | kBool | kString}},
          .attrs = {AttrSpec::required("keys", Attr::Kind::tensor),
                    AttrSpec::required("values", Attr::Kind::tensor),
                    AttrSpec::required("default", Attr::Kind::tensor)},
          .traits = {Trait::text},
          .infer = infer,
          .eval = eval,
          .decompose = none("core: searches a table"),
          .gradient = none("piecewise constant"),
          .cost = cost,
          .sharding = factors("... -> ..."),
          .samples = {
              sample({{4}})
                  .given(0, Tensor::vector<std::string>({"a", "c", "x", "b"}))
                  .with(table(words, numbers, Tensor::scalar<std::int64_t>(-1))),
              sample({{2, 4}})
                  .all(DType::i64)
                  .range(0, 40)
                  .with(table(numbers, words, Tensor::vector<std::string>({"none"}))),
              sample({{3}})
                  .given(0, Tensor::vector<float>({1, NAN, 2}))
                  .with(table(Tensor::vector<float>({NAN, 1}), Tensor::vector<std::int16_t>({7, 8}),
                              Tensor::scalar<std::int16_t>(0))),
              rejects({{2}}, "keys have x's element type")
                  .with(table(words, numbers, Tensor::scalar<std::int64_t>(0)))}};
}

}  // namespace tenon::ops
