// bitwise_not(x): every bit turned over.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::bit_not(x[0]); }

}  // namespace

OpPage bitwise_not() {
  return elementwise({
      .name = "bitwise_not",
      .doc = "y = x with every bit turned over",
      .inputs = {{"x", kInteger}},
      .scalar = scalar,
      .gradient = none("integer result"),
      .samples = {sample({{2, 3}}).all(DType::i32).range(-9, 9),
                  sample({{4}}).all(DType::u8).range(0, 255)},
  });
}

}  // namespace tenon::ops
