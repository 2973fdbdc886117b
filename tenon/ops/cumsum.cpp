// cumsum(x, axis; exclusive, reverse): running sums.
#include "tenon/ops/scans.h"

namespace tenon::ops {
namespace {

Result<Datums> eval(const EvalCall& e) {
  return scan(
      e, 0, [](double a, double b) { return a + b; },
      [](std::int64_t a, std::int64_t b) {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
                                         static_cast<std::uint64_t>(b));
      });
}

// y_i = sum of x_k for k <= i  =>  dx_k = sum of dy_i for i >= k: the same scan the other way
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.cumsum(dys[0], c.value(1),
                   Attrs{{"exclusive", c.flag("exclusive")}, {"reverse", !c.flag("reverse")}}),
          nullptr};
}

}  // namespace

OpPage cumsum() {
  OpPage p =
      scan_page("cumsum",
                "sums up to each element along `axis`: from the end with `reverse`, without the "
                "element itself with `exclusive`");
  p.eval = eval;
  p.gradient = gradient;
  return p;
}

}  // namespace tenon::ops
