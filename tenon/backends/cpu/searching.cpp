// Searches and running folds along one axis: argmax, argmin, top_k, cumsum, cumprod.
#include <algorithm>
#include <limits>

#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/backends/cpu/numbers_internal.h"

namespace tenon::backends::cpu {
namespace {

using LaunchPtr = std::unique_ptr<Launch>;

constexpr std::int64_t kMinWork = 16384;  // elements a thread should get before it is worth waking

std::int64_t grain_for(std::int64_t work_of_one) {
  return std::max<std::int64_t>(1, kMinWork / std::max<std::int64_t>(1, work_of_one));
}

// x[outer, size, inner] around the axis that is searched.
struct Axis {
  std::int64_t outer = 1, size = 1, inner = 1;
  static Axis of(const Dims& dims, std::int64_t axis) {
    if (axis < 0) axis += static_cast<std::int64_t>(dims.size());
    Axis a;
    for (std::size_t i = 0; i < dims.size(); ++i)
      (static_cast<std::int64_t>(i) < axis    ? a.outer
       : static_cast<std::int64_t>(i) == axis ? a.size
                                              : a.inner) *= dims[i];
    return a;
  }
};

// ---- argmax, argmin -------------------------------------------------------------------------

template <class W>
bool is_nan(W v) {
  return v != v;
}
// Whether a comes before b: larger (or smaller), and NaN before every number.
template <class W, bool kLargest>
bool beats(W a, W b) {
  if constexpr (std::is_floating_point_v<W>)
    if (is_nan(a) || is_nan(b)) return is_nan(a) && !is_nan(b);
  return kLargest ? a > b : a < b;
}

template <class T, bool kLargest>
class ExtremeLaunch : public Launch {
 public:
  using W = Wide<T>;
  ExtremeLaunch(Axis axis, bool last) : a_(axis), last_(last) {}
  Status run(const Frame& frame) const override {
    const T* x = reinterpret_cast<const T*>(frame.inputs[0]);
    auto* y = reinterpret_cast<std::int64_t*>(frame.outputs[0]);
    if (a_.inner == 1)
      frame.pool.parallel_for(0, a_.outer, grain_for(a_.size),
                              [&](std::int64_t begin, std::int64_t end) {
                                for (std::int64_t o = begin; o < end; ++o)
                                  y[o] = line(x + o * a_.size);
                              });
    else
      frame.pool.parallel_for(
          0, a_.outer * a_.inner, grain_for(a_.size),
          [&](std::int64_t begin, std::int64_t end) { columns(x, y, begin, end); });
    return {};
  }

 private:
  std::int64_t line(const T* x) const {
    std::int64_t found = 0;
    W best = x[0];
    for (std::int64_t i = 1; i < a_.size; ++i) {
      const W v = x[i];
      if (beats<W, kLargest>(v, best) || (last_ && !beats<W, kLargest>(best, v)))
        best = v, found = i;
    }
    return found;
  }
  // Blocks of neighbouring columns, one row of x after the other.
  void columns(const T* x, std::int64_t* y, std::int64_t begin, std::int64_t end) const {
    constexpr std::int64_t kBlock = 256;
    while (begin < end) {
      const std::int64_t o = begin / a_.inner, at = begin % a_.inner,
                         n = std::min({kBlock, end - begin, a_.inner - at});
      const T* from = x + o * a_.size * a_.inner + at;
      W best[kBlock];
      std::int64_t found[kBlock];
      for (std::int64_t j = 0; j < n; ++j) best[j] = from[j], found[j] = 0;
      for (std::int64_t i = 1; i < a_.size; ++i) {
        const T* row = from + i * a_.inner;
        for (std::int64_t j = 0; j < n; ++j) {
          const W v = row[j];
          const bool wins =
              beats<W, kLargest>(v, best[j]) || (last_ && !beats<W, kLargest>(best[j], v));
          best[j] = wins ? v : best[j];
          found[j] = wins ? i : found[j];
        }
      }
      std::copy(found, found + n, y + begin);
      begin += n;
    }
  }
  Axis a_;
  bool last_;
};

Result<LaunchPtr> bind_extreme(const Node& node, std::span<const Extent> in,
                               std::span<const Extent>) {
  const Call call(node);
  const Axis axis = Axis::of(in[0].dims, call.integer("axis"));
  const bool last = call.flag("select_last_index"), largest = node.op().name == "argmax";
  if (axis.size == 0) return unsupported("an axis without elements is interpreted");
  return visit_number(in[0].dtype, [&]<class T>(T) -> Result<LaunchPtr> {
    if (largest) return LaunchPtr(std::make_unique<ExtremeLaunch<T, true>>(axis, last));
    return LaunchPtr(std::make_unique<ExtremeLaunch<T, false>>(axis, last));
  });
}

// ---- top_k ----------------------------------------------------------------------------------

// A key that sorts upwards as the elements come: best first, NaN before all numbers, -0 beside +0.
template <class W>
auto order_key(W v, bool largest) {
  using Key = std::conditional_t<sizeof(W) <= 4, std::uint32_t, std::uint64_t>;
  constexpr Key kTop = Key{1} << (8 * sizeof(Key) - 1);
  if constexpr (std::is_floating_point_v<W>) {
    if (is_nan(v)) return Key{0};
    const Key bits = v == 0 ? Key{0} : __builtin_bit_cast(Key, v);
    const Key up = bits & kTop ? static_cast<Key>(~bits) : static_cast<Key>(bits | kTop);
    return largest ? static_cast<Key>(~up) : up;  // 0 belongs to a NaN's pattern only
  } else if constexpr (std::is_signed_v<W>) {
    using Signed = std::make_signed_t<Key>;
    const Key up = static_cast<Key>(static_cast<Signed>(v)) ^ kTop;
    return largest ? static_cast<Key>(~up) : up;
  } else {
    const Key up = v;
    return largest ? static_cast<Key>(~up) : up;
  }
}

// A key with its position; of equal keys the earlier position comes first.
template <class Key>
struct Ranked {
  Key key;
  std::int64_t at;
  friend bool operator<(const Ranked& a, const Ranked& b) {
    return a.key != b.key ? a.key < b.key : a.at < b.at;
  }
};
// 32-bit keys and positions in one number sort several times faster.
struct Packed {
  std::uint64_t bits;
  friend bool operator<(Packed a, Packed b) { return a.bits < b.bits; }
};

template <class T>
class TopLaunch : public Launch {
 public:
  using W = Wide<T>;
  using Key = decltype(order_key(W{}, true));
  static constexpr bool kPacks = sizeof(Key) == 4;
  using Entry = std::conditional_t<kPacks, Packed, Ranked<Key>>;

  TopLaunch(Axis axis, std::int64_t k, bool largest) : a_(axis), k_(k), largest_(largest) {}
  Status run(const Frame& frame) const override {
    if (k_ == 0) return {};
    frame.pool.parallel_for(
        0, a_.outer * a_.inner, grain_for(4 * a_.size), [&](std::int64_t begin, std::int64_t end) {
          auto* entries = reinterpret_cast<Entry*>(
              thread_scratch(static_cast<std::size_t>(a_.size) * sizeof(Entry)));
          for (std::int64_t l = begin; l < end; ++l) line(frame, l, entries);
        });
    return {};
  }

 private:
  void line(const Frame& frame, std::int64_t l, Entry* entries) const {
    const std::int64_t o = l / a_.inner, i = l % a_.inner;
    const T* x = reinterpret_cast<const T*>(frame.inputs[0]) + o * a_.size * a_.inner + i;
    for (std::int64_t j = 0; j < a_.size; ++j) {
      const Key key = order_key(static_cast<W>(x[j * a_.inner]), largest_);
      if constexpr (kPacks)
        entries[j] = {std::uint64_t{key} << 32 | static_cast<std::uint64_t>(j)};
      else
        entries[j] = {key, j};
    }
    if (k_ < a_.size) std::nth_element(entries, entries + k_ - 1, entries + a_.size);
    std::sort(entries, entries + k_);
    T* values = reinterpret_cast<T*>(frame.outputs[0]);
    auto* places =
        frame.outputs.size() > 1 ? reinterpret_cast<std::int64_t*>(frame.outputs[1]) : nullptr;
    for (std::int64_t r = 0; r < k_; ++r) {
      std::int64_t at;
      if constexpr (kPacks)
        at = static_cast<std::int64_t>(entries[r].bits & 0xffffffffu);
      else
        at = entries[r].at;
      const std::int64_t to = (o * k_ + r) * a_.inner + i;
      if (values) values[to] = x[at * a_.inner];
      if (places) places[to] = at;
    }
  }
  Axis a_;
  std::int64_t k_;
  bool largest_;
};

Result<LaunchPtr> bind_top(const Node& node, std::span<const Extent> in,
                           std::span<const Extent> out) {
  const Call call(node);
  const std::int64_t axis = call.integer("axis");
  const Axis a = Axis::of(in[0].dims, axis);
  const std::int64_t k = Axis::of(out[0].dims, axis).size;
  if (a.size > std::numeric_limits<std::int32_t>::max())
    return unsupported("axes of more than 2^31 elements are interpreted");
  if (k > a.size) return invalid("top_k: k is {} but the axis has {} elements", k, a.size);
  const bool largest = call.flag("largest");
  return visit_number(in[0].dtype, [&]<class T>(T) -> Result<LaunchPtr> {
    return LaunchPtr(std::make_unique<TopLaunch<T>>(a, k, largest));
  });
}

// ---- cumsum, cumprod ------------------------------------------------------------------------

template <class T, bool kProduct>
class ScanLaunch : public Launch {
 public:
  // Lines are summed in double where that is wider; columns in the kernel's own type.
  using W = Wide<T>;
  using Acc = std::conditional_t<std::is_floating_point_v<W>, double, W>;
  ScanLaunch(Axis axis, bool reverse, bool exclusive)
      : a_(axis), reverse_(reverse), exclusive_(exclusive) {}
  Status run(const Frame& frame) const override {
    if (a_.size == 0) return {};
    const T* x = reinterpret_cast<const T*>(frame.inputs[0]);
    T* y = reinterpret_cast<T*>(frame.outputs[0]);
    frame.pool.parallel_for(
        0, a_.outer * a_.inner, grain_for(a_.size), [&](std::int64_t begin, std::int64_t end) {
          while (begin < end) {
            const std::int64_t o = begin / a_.inner, at = begin % a_.inner,
                               n = std::min({kBlock, end - begin, a_.inner - at}),
                               start = o * a_.size * a_.inner + at;
            columns(x + start, y + start, n);
            begin += n;
          }
        });
    return {};
  }

 private:
  static constexpr std::int64_t kBlock = 128;
  void columns(const T* x, T* y, std::int64_t n) const {
    Acc acc[kBlock];
    std::fill(acc, acc + n, static_cast<Acc>(kProduct ? 1 : 0));
    for (std::int64_t i = 0; i < a_.size; ++i) {
      const std::int64_t row = (reverse_ ? a_.size - 1 - i : i) * a_.inner;
      for (std::int64_t j = 0; j < n; ++j) {
        const Acc v = static_cast<Acc>(static_cast<W>(x[row + j]));
        const Acc next = kProduct ? wrapping_mul(acc[j], v) : wrapping_add(acc[j], v);
        y[row + j] = static_cast<T>(static_cast<W>(exclusive_ ? acc[j] : next));
        acc[j] = next;
      }
    }
  }
  Axis a_;
  bool reverse_, exclusive_;
};

Result<LaunchPtr> bind_scan(const Node& node, std::span<const Extent> in, std::span<const Extent>) {
  const Call call(node);
  const auto ndim = static_cast<std::int64_t>(in[0].dims.size());
  const std::int64_t axis = integer_element(in[1].value, 0);
  if (axis < -ndim || axis >= ndim)
    return invalid("{}: axis {} is outside of {} axes", node.op().name, axis, ndim);
  const Axis a = Axis::of(in[0].dims, axis);
  const bool reverse = call.flag("reverse"), exclusive = call.flag("exclusive"),
             product = node.op().name == "cumprod";
  return visit_number(in[0].dtype, [&]<class T>(T) -> Result<LaunchPtr> {
    if (product) return LaunchPtr(std::make_unique<ScanLaunch<T, true>>(a, reverse, exclusive));
    return LaunchPtr(std::make_unique<ScanLaunch<T, false>>(a, reverse, exclusive));
  });
}

// ---- the kernel -----------------------------------------------------------------------------

struct Entry {
  std::string_view op;
  Result<LaunchPtr> (*bind)(const Node&, std::span<const Extent>, std::span<const Extent>);
  std::string_view what;
  bool wants_axis = false;  // input 1 is wanted when binding
};

constexpr Entry kEntries[] = {{"argmax", bind_extreme, "search along an axis"},
                              {"argmin", bind_extreme, "search along an axis"},
                              {"top_k", bind_top, "selection along an axis"},
                              {"cumsum", bind_scan, "running fold", true},
                              {"cumprod", bind_scan, "running fold", true}};

const Entry* entry_of(const Node& node) {
  const auto* found = std::find_if(std::begin(kEntries), std::end(kEntries),
                                   [&](const Entry& e) { return e.op == node.op().name; });
  return found == std::end(kEntries) ? nullptr : found;
}

class SearchKernel : public Kernel {
 public:
  SearchKernel(const Node& node, const Entry& entry) : node_(node), entry_(entry) {}
  Result<LaunchPtr> bind(std::span<const Extent> in, std::span<const Extent> out) const override {
    return entry_.bind(node_, in, out);
  }
  bool wants_value(int input) const override { return entry_.wants_axis && input == 1; }
  std::string describe() const override { return std::string(entry_.what); }

 private:
  const Node& node_;
  const Entry& entry_;
};

}  // namespace

Verdict takes_search(const Node& node) {
  if (!entry_of(node)) return Verdict::no("");
  const Type& x = node.input(0)->type();
  if (!x.ranked() || !node.output(0)->type().ranked()) return Verdict::no("the rank is not known");
  if (!is_plain_number(x.dtype())) return Verdict::no("this element type has no native search");
  return {};
}

Result<KernelPtr> make_search(const Node& node) {
  return KernelPtr(std::make_unique<SearchKernel>(node, *entry_of(node)));
}

}  // namespace tenon::backends::cpu
