// bitcast(x; to): the same bits read as another element type.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const DType from = c.in(0).dtype(), to = c.dtype("to");
  TENON_EXPECT(to != DType::string && bits_of(from) == bits_of(to),
               fmt::format("both types have as many bits, {} and {},", name(from), name(to)),
               c.in(0));
  return Types{c.in(0).with_dtype(to)};
}

// Types under eight bits are held one a byte: of signed ones the sign fills the byte, of others
// zeros do.
std::byte refill(std::byte b, DType to) {
  const int unused = 8 - bits_of(to);
  if (to == DType::boolean) return std::byte{b != std::byte{0}};
  const auto low = static_cast<std::uint8_t>(static_cast<unsigned>(b) << unused);
  if (class_of(to) == DTypeClass::signed_integer)
    return static_cast<std::byte>(static_cast<std::int8_t>(low) >> unused);
  return static_cast<std::byte>(low >> unused);
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const DType to = e.call.dtype("to");
  Tensor y(to, x.dims());
  if (y.bytes() == 0) return Datums{Datum(y)};
  std::memcpy(y.raw(), x.raw(), y.bytes());
  if (size_of(to) == 1)
    for (std::size_t i = 0; i < y.bytes(); ++i) y.raw()[i] = refill(y.raw()[i], to);
  return Datums{Datum(y)};
}

}  // namespace

OpPage bitcast() {
  const auto to = [](DType d) { return Attrs{{"to", d}}; };
  return {.name = "bitcast",
          .doc = "the bits of x read as `to`, a type of as many bits; strings have none",
          .inputs = {{"x", kNumeric | kFloat8 | kSubByte | kBool | kComplex}},
          .attrs = {AttrSpec::required("to", Attr::Kind::dtype)},
          .infer = infer,
          .eval = eval,
          .decompose = none("core"),
          .gradient = none("a pattern of bits is no smooth function of the number"),
          .cost = cost_movement,
          .sharding = sharding_elementwise,
          .samples = {sample({{2, 3}}).with(to(DType::i32)),
                      sample({{2, 3}}).all(DType::i64).range(-9, 9).with(to(DType::f64)),
                      sample({{4}}).all(DType::boolean).range(0, 1).with(to(DType::u8)),
                      sample({{4}}).all(DType::i4).range(-8, 7).with(to(DType::u4)),
                      sample({{0}}).with(to(DType::u32)),
                      rejects({{2}}, "f32 and i64").with(to(DType::i64))}};
}

}  // namespace tenon::ops
