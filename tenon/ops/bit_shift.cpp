// bit_shift(a, b; direction): bits moved by b places.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call& c, const Exprs& x) {
  return c.text("direction") == "left" ? scalar::shift_left(x[0], x[1])
                                       : scalar::shift_right(x[0], x[1]);
}

}  // namespace

OpPage bit_shift() {
  return elementwise({
      .name = "bit_shift",
      .doc = "y = a shifted by b bits to the \"left\" or \"right\", with broadcasting; by the "
             "width of the "
             "type or more gives 0, right shifts of negative numbers keep the sign",
      .inputs = {{"a", kInteger}, {"b", kInteger}},
      .attrs = {AttrSpec::required("direction", Attr::Kind::text)},
      .scalar = scalar,
      .gradient = none("integer result"),
      .samples = {sample({{2, 3}, {3}}).all(DType::u8).range(0, 7).with({{"direction", "left"}}),
                  sample({{4}, {4}}).all(DType::u64).range(0, 60).with({{"direction", "right"}}),
                  sample({{4}, {4}})
                      .all(DType::i32)
                      .range(-9, 9)
                      .range_of(1, 0, 3)
                      .with({{"direction", "right"}}),
                  rejects({{2}, {2}}, "attribute direction is missing").all(DType::u8)},
  });
}

}  // namespace tenon::ops
