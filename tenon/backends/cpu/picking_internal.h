// How updates meet what is there, run by run; shared by scatters and adjoints.
#pragma once

#include <algorithm>

#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/backends/cpu/numbers_internal.h"
#include "tenon/ops/scatters.h"

namespace tenon::backends::cpu {

using ops::Meet;
using LaunchPtr = std::unique_ptr<Launch>;

/// Units of work that a thread should get before it is worth waking, when one takes this much.
inline std::int64_t grain_for(std::int64_t work_of_one) {
  return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, work_of_one));
}
inline std::int64_t product(const Dims& d, std::size_t begin, std::size_t end) {
  std::int64_t n = 1;
  for (std::size_t i = begin; i < end; ++i) n *= d[i];
  return n;
}
/// The attribute `axis` of a call on a tensor of `ndim` axes.
inline std::size_t axis_of(const Node& node, std::size_t ndim) {
  const std::int64_t axis = Call(node).integer("axis");
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(ndim) : axis);
}

template <class W>
W met(W a, W b, Meet meet) {
  switch (meet) {
    case Meet::replace: return b;
    case Meet::add: return wrapping_add(a, b);
    case Meet::mul: return wrapping_mul(a, b);
    case Meet::max: return a < b || b != b ? b : a;
    case Meet::min: return b < a || b != b ? b : a;
  }
  return b;
}

/// to[j] = met(to[j], from[j]) for j in [0, n)
using MeetRun = void (*)(std::byte* to, const std::byte* from, std::int64_t n, Meet meet);
inline MeetRun meet_run(DType d) {
  return visit_number(d, []<class T>(T) -> MeetRun {
    return [](std::byte* to, const std::byte* from, std::int64_t n, Meet meet) {
      T* y = reinterpret_cast<T*>(to);
      const T* u = reinterpret_cast<const T*>(from);
      const auto each = [&](auto how) {
        for (std::int64_t j = 0; j < n; ++j) y[j] = static_cast<T>(met<Wide<T>>(y[j], u[j], how()));
      };
      if (meet == Meet::add)
        each([] { return Meet::add; });
      else
        each([meet] { return meet; });
    };
  });
}

Result<LaunchPtr> bind_gather_adjoint(const Node& node, std::span<const Extent> in,
                                      std::span<const Extent> out);
Result<LaunchPtr> bind_slice_adjoint(const Node& node, std::span<const Extent> in,
                                     std::span<const Extent> out);

}  // namespace tenon::backends::cpu
