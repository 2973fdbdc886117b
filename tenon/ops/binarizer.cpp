// binarizer(x; threshold): 1 above a threshold, else 0.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call& c, const Exprs& x) {
  return scalar::select(x[0] > c.real("threshold"), scalar::like(x[0], 1), scalar::like(x[0], 0));
}

}  // namespace

OpPage binarizer() {
  return elementwise(
      {.name = "binarizer",
       .doc = "y = 1 where x > threshold, else 0",
       .inputs = {{"x", kNumeric}},
       .attrs = {{"threshold", 0.0}},
       .scalar = scalar,
       .gradient = none("a step: zero wherever it is defined"),
       .samples = {sample({{2, 4}}), sample({{4}}).with({{"threshold", 0.5}}),
                   sample({{4}}).all(DType::i32).range(-3, 3).with({{"threshold", 1.0}})}});
}

}  // namespace tenon::ops
