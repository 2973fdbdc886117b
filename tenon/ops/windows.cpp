// Output sizes and concrete geometry of sliding windows.
#include "tenon/ops/windows.h"

#include <algorithm>

namespace tenon::ops {
namespace {

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}
std::int64_t ceil_quotient(std::int64_t a, std::int64_t b) { return -floor_quotient(-a, b); }

std::int64_t entry(const std::vector<std::int64_t>& list, std::size_t i, std::int64_t fallback) {
  return list.empty() ? fallback : list[i];
}

Dim extent(const Dim& kernel, std::int64_t dilation) {
  return (kernel - Dim(1)) * Dim(dilation) + Dim(1);
}

// NOTSET: windows over the padded input.
Result<Dim> explicit_size(const Dim& x, const Dim& window, std::int64_t stride, std::int64_t begin,
                          std::int64_t end, bool ceil_mode) {
  const Dim room = x + Dim(begin + end) - window;
  if (at_least(room, 0) == Truth::no)
    return invalid("the window of {} is larger than the padded size {}", window.text(),
                   (x + Dim(begin + end)).text());
  if (!ceil_mode) return floor_div(room, Dim(stride)) + Dim(1);
  // The last window starts before the end of the input: (y - 1) * stride < x + begin.
  return min(ceil_div(room, Dim(stride)) + Dim(1), ceil_div(x + Dim(begin), Dim(stride)));
}

}  // namespace

std::vector<AttrSpec> window_attrs() {
  return {{"strides", Attr::Integers{}},
          {"pads", Attr::Integers{}},
          {"dilations", Attr::Integers{}},
          {"auto_pad", "NOTSET"}};
}

Attrs copied_attrs(const Call& c, std::initializer_list<std::string_view> extra) {
  Attrs out;
  const auto copy = [&](std::string_view key) {
    if (const Attr* a = c.node().attrs().find(key)) out.set(key, *a);
  };
  for (std::string_view key : {"strides", "pads", "dilations", "auto_pad"}) copy(key);
  for (std::string_view key : extra) copy(key);
  return out;
}

std::int64_t WindowAxis::first(std::int64_t k) const {
  return std::max<std::int64_t>(0, ceil_quotient(begin - k * dilation, stride));
}
std::int64_t WindowAxis::last(std::int64_t k) const {
  return std::min(y, floor_quotient(x - 1 + begin - k * dilation, stride) + 1);
}

Result<bool> check_window(const Call& c, std::size_t num_spatial) {
  if (num_spatial < 1 || num_spatial > kMaxSpatial)
    return invalid("1 to {} spatial axes are supported but x has {}", kMaxSpatial, num_spatial);
  for (const char* key : {"strides", "dilations"}) {
    const auto& list = c.integers(key);
    if (!list.empty() && list.size() != num_spatial)
      return invalid("{} has {} entries but x has {} spatial axes", key, list.size(), num_spatial);
    for (std::int64_t v : list)
      if (v < 1) return invalid("{} are at least 1 but {} is given", key, v);
  }
  if (!c.integers("pads").empty() && c.integers("pads").size() != 2 * num_spatial)
    return invalid("pads has {} entries but x has {} spatial axes", c.integers("pads").size(),
                   num_spatial);
  const std::string& mode = c.text("auto_pad");
  if (mode != "NOTSET" && mode != "SAME_UPPER" && mode != "SAME_LOWER" && mode != "VALID")
    return invalid("auto_pad is NOTSET, SAME_UPPER, SAME_LOWER or VALID but '{}' is given", mode);
  return true;
}

Result<Shape> window_sizes(const Call& c, const Shape& x, const Shape& kernel, bool ceil_mode) {
  if (kernel.size() != x.size())
    return invalid("the kernel has {} spatial axes but x has {}", kernel.size(), x.size());
  TENON_TRY(check_window(c, x.size()));
  const std::string& mode = c.text("auto_pad");
  Shape out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t stride = entry(c.integers("strides"), i, 1);
    const Dim window = extent(kernel[i], entry(c.integers("dilations"), i, 1));
    if (mode.starts_with("SAME")) {
      out.push_back(ceil_div(x[i], Dim(stride)));
      continue;
    }
    const bool valid =
        mode == "VALID";  // here floor((x - window) / stride) + 1 is what ceil_mode gives, too
    const std::int64_t begin = valid ? 0 : entry(c.integers("pads"), i, 0),
                       end = valid ? 0 : entry(c.integers("pads"), i + x.size(), 0);
    out.push_back(TENON_TRY(explicit_size(x[i], window, stride, begin, end, ceil_mode && !valid)));
  }
  return out;
}

Result<Window> window_of(const Call& c, const Dims& x, const Dims& kernel, bool ceil_mode) {
  const Dims y =
      *constant_dims(TENON_TRY(window_sizes(c, to_shape(x), to_shape(kernel), ceil_mode)));
  const std::string& mode = c.text("auto_pad");
  Window out;
  const std::size_t shift = kMaxSpatial - x.size();
  for (std::size_t i = 0; i < x.size(); ++i) {
    WindowAxis& a = out[shift + i];
    a = {.x = x[i],
         .kernel = kernel[i],
         .y = y[i],
         .stride = entry(c.integers("strides"), i, 1),
         .dilation = entry(c.integers("dilations"), i, 1)};
    if (mode.starts_with("SAME")) {
      const std::int64_t total = std::max<std::int64_t>(0, (a.y - 1) * a.stride + a.extent() - a.x);
      a.begin = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      a.end = total - a.begin;
    } else if (mode == "NOTSET") {
      a.begin = entry(c.integers("pads"), i, 0);
      a.end = entry(c.integers("pads"), i + x.size(), 0);
    }
  }
  return out;
}

Result<Shape> given_sizes(const Call& c, int input, int num_spatial) {
  if (auto sizes = c.dims(input)) {
    if (static_cast<int>(sizes->size()) != num_spatial)
      return invalid("{} sizes are given for {} spatial axes", sizes->size(), num_spatial);
    return *sizes;
  }
  Shape out;
  for (int i = 0; i < num_spatial; ++i) out.push_back(c.fresh_dim(fmt::format("d{}", i + 2)));
  return out;
}

}  // namespace tenon::ops
