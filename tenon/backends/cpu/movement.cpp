// Movements: strided copies, copies through index tables, and gathered rows.
#include <algorithm>
#include <array>
#include <cstring>

#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/backends/cpu/strided_copy_internal.h"
#include "tenon/ops/loops.h"
#include "tenon/ops/slices.h"

namespace tenon::backends::cpu {
namespace {

// ---- strided copies -------------------------------------------------------------------------

struct Job {
  int input, output;
  StridedCopy copy;
};

class CopyLaunch : public Launch {
 public:
  CopyLaunch(std::vector<Job> jobs, std::size_t element_bytes)
      : jobs_(std::move(jobs)), element_bytes_(element_bytes) {
    for (Job& j : jobs_) j.copy.simplify();
  }
  Status run(const Frame& frame) const override {
    for (const Job& j : jobs_)
      if (std::byte* to = frame.outputs[static_cast<std::size_t>(j.output)])
        j.copy.run(frame.inputs[static_cast<std::size_t>(j.input)], to, element_bytes_, frame.pool);
    return {};
  }

 private:
  std::vector<Job> jobs_;
  std::size_t element_bytes_;
};

using Jobs = Result<std::vector<Job>> (*)(const Node&, std::span<const Extent>,
                                          std::span<const Extent>);

std::vector<Job> whole(std::span<const Extent> in, const Dims& from_strides,
                       std::span<const Extent> out) {
  (void)in;
  return {{0, 0, {out[0].dims, from_strides, row_major_strides(out[0].dims)}}};
}

Result<std::vector<Job>> view_jobs(const Node&, std::span<const Extent> in,
                                   std::span<const Extent> out) {
  return whole(in, row_major_strides(out[0].dims), out);
}

Result<std::vector<Job>> transpose_jobs(const Node& node, std::span<const Extent> in,
                                        std::span<const Extent> out) {
  const Dims own = row_major_strides(in[0].dims);
  const auto* perm = node.attrs().get<Attr::Integers>("perm");
  Dims strides;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::int64_t p = perm ? (*perm)[i] : static_cast<std::int64_t>(own.size() - 1 - i);
    strides.push_back(
        own[static_cast<std::size_t>(p < 0 ? p + static_cast<std::int64_t>(own.size()) : p)]);
  }
  return whole(in, strides, out);
}

Result<std::vector<Job>> expand_jobs(const Node&, std::span<const Extent> in,
                                     std::span<const Extent> out) {
  return whole(in, ops::broadcast_strides(in[0].dims, out[0].dims), out);
}

std::size_t axis_of(const Node& node, std::size_t ndim) {
  const std::int64_t axis = Call(node).integer("axis");
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(ndim) : axis);
}

Result<std::vector<Job>> concat_jobs(const Node& node, std::span<const Extent> in,
                                     std::span<const Extent> out) {
  const std::size_t axis = axis_of(node, out[0].dims.size());
  const Dims to = row_major_strides(out[0].dims);
  std::vector<Job> jobs;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    jobs.push_back({static_cast<int>(i),
                    0,
                    {in[i].dims, row_major_strides(in[i].dims), to, 0, at * to[axis]}});
    at += in[i].dims[axis];
  }
  return jobs;
}

Result<std::vector<Job>> split_jobs(const Node& node, std::span<const Extent> in,
                                    std::span<const Extent> out) {
  const std::size_t axis = axis_of(node, in[0].dims.size());
  const Dims from = row_major_strides(in[0].dims);
  std::vector<Job> jobs;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    jobs.push_back({0,
                    static_cast<int>(i),
                    {out[i].dims, from, row_major_strides(out[i].dims), at * from[axis], 0}});
    at += out[i].dims[axis];
  }
  return jobs;
}

// ---- index tables ---------------------------------------------------------------------------

// Per axis, for each output position, the offset of its source in elements, or -1 for the fill
// value.
struct AxisTables {
  std::vector<std::vector<std::int64_t>> offsets;
  int fill_input = -1;  // where the fill value is, -1: zero bytes
};

class TableLaunch : public Launch {
 public:
  TableLaunch(AxisTables tables, Dims dims, std::size_t element_bytes)
      : tables_(std::move(tables)), dims_(std::move(dims)), size_(element_bytes) {
    for (std::size_t a = 0; a + 1 < dims_.size(); ++a) outer_ *= dims_[a];
    const auto& last = tables_.offsets.back();
    for (std::size_t i = 0; i < last.size();) {  // runs of neighbours on the last axis
      std::size_t end = i + 1;
      while (
          end < last.size() &&
          (last[i] < 0 ? last[end] < 0 : last[end] == last[i] + static_cast<std::int64_t>(end - i)))
        ++end;
      runs_.push_back({static_cast<std::int64_t>(i), static_cast<std::int64_t>(end - i), last[i]});
      i = end;
    }
  }
  Status run(const Frame& frame) const override {
    const std::array<std::byte, 16> zero{};
    const bool has_fill = tables_.fill_input >= 0 &&
                          tables_.fill_input < static_cast<int>(frame.inputs.size()) &&
                          frame.inputs[static_cast<std::size_t>(tables_.fill_input)];
    const std::byte* fill =
        has_fill ? frame.inputs[static_cast<std::size_t>(tables_.fill_input)] : zero.data();
    const std::int64_t row = dims_.back(),
                       grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, row));
    frame.pool.parallel_for(0, outer_, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t o = begin; o < end; ++o)
        copy_row(o, frame.inputs[0], frame.outputs[0] + static_cast<std::size_t>(o * row) * size_,
                 fill);
    });
    return {};
  }

 private:
  struct Run {
    std::int64_t at, count, source;
  };
  void copy_row(std::int64_t o, const std::byte* from, std::byte* to, const std::byte* fill) const {
    std::int64_t base = 0;
    bool outside = false;
    for (std::size_t a = dims_.size() - 1; a-- > 0;) {
      const std::int64_t offset = tables_.offsets[a][static_cast<std::size_t>(o % dims_[a])];
      o /= dims_[a];
      outside = outside || offset < 0;
      base += offset;
    }
    for (const Run& r : runs_) {
      std::byte* at = to + static_cast<std::size_t>(r.at) * size_;
      if (outside || r.source < 0)
        fill_elements(at, r.count, fill);
      else
        std::memcpy(at, from + static_cast<std::size_t>(base + r.source) * size_,
                    static_cast<std::size_t>(r.count) * size_);
    }
  }
  void fill_elements(std::byte* at, std::int64_t count, const std::byte* fill) const {
    for (std::int64_t i = 0; i < count; ++i)
      std::memcpy(at + static_cast<std::size_t>(i) * size_, fill, size_);
  }
  AxisTables tables_;
  Dims dims_;
  std::size_t size_;
  std::int64_t outer_ = 1;
  std::vector<Run> runs_;
};

std::vector<std::int64_t> values_of(const Extent& e) { return to_int64s(e.value); }

using Tables = Result<AxisTables> (*)(const Node&, std::span<const Extent>,
                                      std::span<const Extent>);

Result<AxisTables> slice_tables(const Node&, std::span<const Extent> in, std::span<const Extent>) {
  const auto& x = in[0].dims;
  const auto starts = values_of(in[1]), ends = values_of(in[2]);
  std::vector<std::int64_t> axes, steps(starts.size(), 1);
  for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (in.size() > 3 && in[3].present()) axes = values_of(in[3]);
  if (in.size() > 4 && in[4].present()) steps = values_of(in[4]);
  std::vector<ops::Cut> cuts;
  for (std::int64_t d : x) cuts.push_back({0, 1, d});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<std::size_t>(
        axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(x.size()) : axes[i]);
    if (a >= x.size() || steps[i] == 0)
      return invalid("slice: axis {} or step {} is out of range", axes[i], steps[i]);
    cuts[a] = ops::cut_of(starts[i], ends[i], steps[i], x[a]);
  }
  const Dims strides = row_major_strides(x);
  AxisTables t;
  for (std::size_t a = 0; a < x.size(); ++a) {
    t.offsets.emplace_back();
    for (std::int64_t k = 0; k < cuts[a].count; ++k)
      t.offsets.back().push_back((cuts[a].start + k * cuts[a].step) * strides[a]);
  }
  return t;
}

// The source position of output position k on an axis of n with `before` margin; -1: the fill
// value.
std::int64_t padded_source(std::int64_t k, std::int64_t before, std::int64_t n,
                           std::string_view mode) {
  const std::int64_t i = k - before;
  if (i >= 0 && i < n) return i;
  if (mode == "constant" || n == 0) return -1;
  if (mode == "edge") return i < 0 ? 0 : n - 1;
  if (mode == "wrap") return ((i % n) + n) % n;
  if (n == 1) return 0;
  const std::int64_t period = 2 * (n - 1), r = ((i % period) + period) % period;
  return r < n ? r : period - r;
}

Result<AxisTables> pad_tables(const Node& node, std::span<const Extent> in,
                              std::span<const Extent> out) {
  const auto& x = in[0].dims;
  const auto pads = values_of(in[1]);
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < x.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (in.size() > 3 && in[3].present()) axes = values_of(in[3]);
  std::vector<std::int64_t> before(x.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i)
    before[static_cast<std::size_t>(axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(x.size())
                                                : axes[i])] = pads[i];
  const std::string mode = Call(node).text("mode");
  const Dims strides = row_major_strides(x);
  AxisTables t;
  t.fill_input = 2;
  for (std::size_t a = 0; a < x.size(); ++a) {
    t.offsets.emplace_back();
    for (std::int64_t k = 0; k < out[0].dims[a]; ++k) {
      const std::int64_t i = padded_source(k, before[a], x[a], mode);
      t.offsets.back().push_back(i < 0 ? -(std::int64_t{1} << 48) : i * strides[a]);
    }
  }
  for (auto& axis : t.offsets)
    for (auto& o : axis) o = o < 0 ? -1 : o;
  return t;
}

Result<AxisTables> tile_tables(const Node&, std::span<const Extent> in,
                               std::span<const Extent> out) {
  const Dims strides = row_major_strides(in[0].dims);
  AxisTables t;
  for (std::size_t a = 0; a < strides.size(); ++a) {
    t.offsets.emplace_back();
    for (std::int64_t k = 0; k < out[0].dims[a]; ++k)
      t.offsets.back().push_back(k % in[0].dims[a] * strides[a]);
  }
  return t;
}

// ---- gathered rows --------------------------------------------------------------------------

class GatherLaunch : public Launch {
 public:
  GatherLaunch(const Extent& x, const Extent& indices, std::size_t axis)
      : size_(x.dims[axis]), count_(indices.count()), wide_(size_of(indices.dtype) == 8) {
    for (std::size_t a = 0; a < x.dims.size(); ++a)
      (a < axis ? outer_ : inner_) *= a == axis ? 1 : x.dims[a];
    row_bytes_ = static_cast<std::size_t>(inner_) * static_cast<std::size_t>(size_of(x.dtype));
  }
  Status run(const Frame& frame) const override {
    for (std::int64_t i = 0; i < count_; ++i)
      if (const std::int64_t k = index(frame.inputs[1], i); k < -size_ || k >= size_)
        return invalid("gather: index {} is outside of an axis of {}", k, size_);
    const std::int64_t grain = std::max<std::int64_t>(
        1, 65536 / static_cast<std::int64_t>(std::max<std::size_t>(1, row_bytes_)));
    frame.pool.parallel_for(0, outer_ * count_, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t k = index(frame.inputs[1], r % count_),
                           row = r / count_ * size_ + (k < 0 ? k + size_ : k);
        std::memcpy(frame.outputs[0] + static_cast<std::size_t>(r) * row_bytes_,
                    frame.inputs[0] + static_cast<std::size_t>(row) * row_bytes_, row_bytes_);
      }
    });
    return {};
  }

 private:
  std::int64_t index(const std::byte* p, std::int64_t i) const {
    return wide_ ? reinterpret_cast<const std::int64_t*>(p)[i]
                 : reinterpret_cast<const std::int32_t*>(p)[i];
  }
  std::int64_t size_, count_, outer_ = 1, inner_ = 1;
  std::size_t row_bytes_ = 0;
  bool wide_;
};

// ---- the kernel -----------------------------------------------------------------------------

struct Entry {
  std::string_view op;
  Jobs jobs;
  Tables tables;
  int first_value;  // inputs from here on are wanted when binding; 0: none
};

constexpr Entry kEntries[] = {
    {"transpose", transpose_jobs, nullptr, 0}, {"expand", expand_jobs, nullptr, 0},
    {"concat", concat_jobs, nullptr, 0},       {"split", split_jobs, nullptr, 0},
    {"slice", nullptr, slice_tables, 1},       {"pad", nullptr, pad_tables, 1},
    {"tile", nullptr, tile_tables, 1},         {"gather", nullptr, nullptr, 0}};

const Entry* entry_of(const Node& node) {
  static constexpr Entry view{"", view_jobs, nullptr, 0};
  if (node.op().has(Trait::view) || node.op().name == "identity") return &view;
  for (const Entry& e : kEntries)
    if (e.op == node.op().name) return &e;
  return nullptr;
}

class MovementKernel : public Kernel {
 public:
  MovementKernel(const Node& node, const Entry& entry) : node_(node), entry_(entry) {}
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> in,
                                       std::span<const Extent> out) const override {
    const auto size = static_cast<std::size_t>(size_of(in[0].dtype));
    if (entry_.jobs)
      return std::unique_ptr<Launch>(
          std::make_unique<CopyLaunch>(TENON_TRY(entry_.jobs(node_, in, out)), size));
    if (!entry_.tables)
      return std::unique_ptr<Launch>(
          std::make_unique<GatherLaunch>(in[0], in[1], axis_of(node_, in[0].dims.size())));
    if (in[0].dims.empty())
      return std::unique_ptr<Launch>(
          std::make_unique<CopyLaunch>(TENON_TRY(view_jobs(node_, in, out)), size));
    return std::unique_ptr<Launch>(
        std::make_unique<TableLaunch>(TENON_TRY(entry_.tables(node_, in, out)), out[0].dims, size));
  }
  bool wants_value(int input) const override {
    return entry_.first_value > 0 && input >= entry_.first_value &&
           !(node_.op().name == "pad" && input == 2);
  }
  std::string describe() const override {
    return entry_.jobs     ? "strided copy"
           : entry_.tables ? "copy through index tables"
                           : "gathered rows";
  }

 private:
  const Node& node_;
  const Entry& entry_;
};

bool is_plain(const Value* v) {
  return !v || (v->type().is_tensor() && v->type().dtype() != DType::string);
}

}  // namespace

Verdict takes_movement(const Node& node) {
  if (!entry_of(node)) return Verdict::no("");
  if (!std::all_of(node.inputs().begin(), node.inputs().end(), is_plain) ||
      !std::all_of(node.outputs().begin(), node.outputs().end(), is_plain))
    return Verdict::no("text and sequences are moved by the interpreter");
  return {};
}

Result<KernelPtr> make_movement(const Node& node) {
  return KernelPtr(std::make_unique<MovementKernel>(node, *entry_of(node)));
}

}  // namespace tenon::backends::cpu
