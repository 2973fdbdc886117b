// bitwise_or(a, b): or of every pair of bits.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::bit_or(x[0], x[1]); }

}  // namespace

OpPage bitwise_or() {
  return elementwise({
      .name = "bitwise_or",
      .doc = "y = a or b bit by bit, with broadcasting",
      .inputs = {{"a", kInteger}, {"b", kInteger}},
      .scalar = scalar,
      .gradient = none("integer result"),
      .samples = {sample({{2, 3}, {2, 3}}).all(DType::i32).range(-99, 99),
                  sample({{2, 3, 4}, {3, 1}}).all(DType::u8).range(0, 255),
                  rejects({{2, 3}, {4}}, "do not broadcast").all(DType::i16)},
      .traits = {Trait::commutative, Trait::associative},
  });
}

}  // namespace tenon::ops
