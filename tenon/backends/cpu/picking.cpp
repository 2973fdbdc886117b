// Elements picked and put by index: gather_elements, gather_nd, scatter_elements, scatter_nd (and
// the entry of adjoints, adjoint_movements.cpp).
#include <algorithm>
#include <cstring>

#include "tenon/backends/cpu/picking_internal.h"
#include "tenon/ops/loops.h"

namespace tenon::backends::cpu {
namespace {

// ---- gather_elements and scatter_elements ---------------------------------------------------

// Both walk the indices' dims row by row: x's offset of a row's start without the picked axis, and
// the steps of x along the row.
class ElementWalk {
 public:
  ElementWalk(const Dims& x, Dims picked, std::size_t axis)
      : dims_(std::move(picked)), strides_(row_major_strides(x)), axis_(axis), size_(x[axis]) {
    row_ = dims_.back();
    along_ = axis + 1 == dims_.size() ? 0 : 1;
  }
  std::int64_t rows() const { return product(dims_, 0, dims_.size() - 1); }
  std::int64_t row() const { return row_; }
  /// Rows below each position of the axes before the picked one: two of them never meet.
  std::int64_t apart() const { return product(dims_, 0, axis_); }
  /// Calls f(number in the indices, offset in x) for every element of row r.
  template <class F>
  void each(std::int64_t r, const Indices& indices, F&& f) const {
    std::int64_t base = 0, rest = r;
    for (std::size_t a = dims_.size() - 1; a-- > 0;) {
      if (a != axis_) base += rest % dims_[a] * strides_[a];
      rest /= dims_[a];
    }
    for (std::int64_t j = 0; j < row_; ++j)
      f(r * row_ + j, base + j * along_ + indices.at(r * row_ + j, size_) * strides_[axis_]);
  }

 private:
  Dims dims_, strides_;
  std::size_t axis_;
  std::int64_t size_, row_, along_;
};

Status reach(std::string_view op, const Dims& x, const Dims& picked, std::size_t axis) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i != axis && picked[i] > x[i])
      return invalid("{}: indices {} reach beyond {}", op, to_text(picked), to_text(x));
  return {};
}

template <class T>
class GatherElements : public Launch {
 public:
  GatherElements(ElementWalk walk, DType index) : walk_(std::move(walk)), index_(index) {}
  Status run(const Frame& frame) const override {
    const T* x = reinterpret_cast<const T*>(frame.inputs[0]);
    T* y = reinterpret_cast<T*>(frame.outputs[0]);
    const Indices indices(frame.inputs[1], index_);
    frame.pool.parallel_for(
        0, walk_.rows(), grain_for(walk_.row()), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r)
            walk_.each(r, indices, [&](std::int64_t k, std::int64_t from) { y[k] = x[from]; });
        });
    return indices.status("gather_elements");
  }

 private:
  ElementWalk walk_;
  DType index_;
};

Result<LaunchPtr> bind_gather_elements(const Node& node, std::span<const Extent> in,
                                       std::span<const Extent>) {
  const std::size_t axis = axis_of(node, in[0].dims.size());
  TENON_TRY(reach("gather_elements", in[0].dims, in[1].dims, axis));
  if (in[0].count() == 0) return unsupported("empty tensors are interpreted");
  return ops::visit_storage(in[0].dtype, [&]<class T>(T*) -> Result<LaunchPtr> {
    return LaunchPtr(std::make_unique<GatherElements<T>>(ElementWalk(in[0].dims, in[1].dims, axis),
                                                         in[1].dtype));
  });
}

void copy_whole(const Frame& frame, std::size_t bytes) {
  if (frame.outputs[0] != frame.inputs[0] && bytes)
    std::memcpy(frame.outputs[0], frame.inputs[0], bytes);
}

class ScatterElements : public Launch {
 public:
  ScatterElements(ElementWalk walk, const Extent& x, DType index, Meet meet)
      : walk_(std::move(walk)),
        bytes_(x.bytes()),
        size_(static_cast<std::size_t>(size_of(x.dtype))),
        index_(index),
        meet_(meet),
        run_(meet == Meet::replace ? nullptr : meet_run(x.dtype)) {}
  Status run(const Frame& frame) const override {
    copy_whole(frame, bytes_);
    const Indices indices(frame.inputs[1], index_);
    const std::int64_t apart = walk_.apart(), rows = apart == 0 ? 0 : walk_.rows() / apart;
    frame.pool.parallel_for(0, apart, grain_for(rows * walk_.row()),
                            [&](std::int64_t begin, std::int64_t end) {
                              for (std::int64_t r = begin * rows; r < end * rows; ++r)
                                row(frame, indices, r);
                            });
    return indices.status("scatter_elements");
  }

 private:
  void row(const Frame& frame, const Indices& indices, std::int64_t r) const {
    walk_.each(r, indices, [&](std::int64_t k, std::int64_t to) {
      std::byte* y = frame.outputs[0] + static_cast<std::size_t>(to) * size_;
      const std::byte* u = frame.inputs[2] + static_cast<std::size_t>(k) * size_;
      if (run_)
        run_(y, u, 1, meet_);
      else
        std::memcpy(y, u, size_);
    });
  }
  ElementWalk walk_;
  std::size_t bytes_, size_;
  DType index_;
  Meet meet_;
  MeetRun run_;
};

Result<LaunchPtr> bind_scatter_elements(const Node& node, std::span<const Extent> in,
                                        std::span<const Extent>) {
  const std::size_t axis = axis_of(node, in[0].dims.size());
  TENON_TRY(reach("scatter_elements", in[0].dims, in[2].dims, axis));
  if (in[0].count() == 0) return unsupported("empty tensors are interpreted");
  return LaunchPtr(std::make_unique<ScatterElements>(ElementWalk(in[0].dims, in[2].dims, axis),
                                                     in[0], in[1].dtype,
                                                     TENON_TRY(ops::meet_of(Call(node)))));
}

// ---- gather_nd and scatter_nd ---------------------------------------------------------------

// Index vectors: the offset of the run of x that vector v addresses. `batch` leading axes of x are
// the vectors' own.
class VectorWalk {
 public:
  VectorWalk(const Dims& x, const Dims& indices, std::size_t batch)
      : dims_(x), strides_(row_major_strides(x)), batch_(batch) {
    length_ = static_cast<std::size_t>(indices.back());
    vectors_ = product(indices, 0, indices.size() - 1);
    run_ = product(x, batch + length_, x.size());
    const std::int64_t batches = product(x, 0, batch);
    per_batch_ = std::max<std::int64_t>(1, batches == 0 ? 1 : vectors_ / batches);
    batch_stride_ = batch == 0 ? 0 : strides_[batch - 1];
  }
  std::int64_t vectors() const { return vectors_; }
  std::int64_t run() const { return run_; }
  std::int64_t offset(std::int64_t v, const Indices& indices) const {
    std::int64_t at = v / per_batch_ * batch_stride_;
    for (std::size_t k = 0; k < length_; ++k)
      at += indices.at(v * static_cast<std::int64_t>(length_) + static_cast<std::int64_t>(k),
                       dims_[batch_ + k]) *
            strides_[batch_ + k];
    return at;
  }

 private:
  Dims dims_, strides_;
  std::size_t batch_, length_ = 0;
  std::int64_t vectors_ = 0, run_ = 0, per_batch_ = 1, batch_stride_ = 0;
};

class GatherNd : public Launch {
 public:
  GatherNd(VectorWalk walk, std::size_t size, DType index)
      : walk_(std::move(walk)), size_(size), index_(index) {}
  Status run(const Frame& frame) const override {
    const Indices indices(frame.inputs[1], index_);
    const std::size_t bytes = static_cast<std::size_t>(walk_.run()) * size_;
    frame.pool.parallel_for(
        0, walk_.vectors(), grain_for(walk_.run() + 4), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t v = begin; v < end; ++v) {
            const std::int64_t from = walk_.offset(v, indices);
            if (bytes)
              std::memcpy(frame.outputs[0] + static_cast<std::size_t>(v) * bytes,
                          frame.inputs[0] + static_cast<std::size_t>(from) * size_, bytes);
          }
        });
    return indices.status("gather_nd");
  }

 private:
  VectorWalk walk_;
  std::size_t size_;
  DType index_;
};

Result<LaunchPtr> bind_gather_nd(const Node& node, std::span<const Extent> in,
                                 std::span<const Extent>) {
  if (in[0].count() == 0) return unsupported("empty tensors are interpreted");
  const auto batch = static_cast<std::size_t>(Call(node).integer("batch_dims"));
  return LaunchPtr(std::make_unique<GatherNd>(VectorWalk(in[0].dims, in[1].dims, batch),
                                              static_cast<std::size_t>(size_of(in[0].dtype)),
                                              in[1].dtype));
}

// Updates meet runs of x in the order of their vectors; the work is split along the runs, where two
// threads never meet.
class ScatterNd : public Launch {
 public:
  ScatterNd(VectorWalk walk, const Extent& x, DType index, Meet meet)
      : walk_(std::move(walk)),
        bytes_(x.bytes()),
        size_(static_cast<std::size_t>(size_of(x.dtype))),
        index_(index),
        meet_(meet),
        run_(meet == Meet::replace ? nullptr : meet_run(x.dtype)) {}
  Status run(const Frame& frame) const override {
    copy_whole(frame, bytes_);
    const Indices indices(frame.inputs[1], index_);
    frame.pool.parallel_for(
        0, walk_.run(), grain_for(walk_.vectors()), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t v = 0; v < walk_.vectors(); ++v) {
            std::byte* y = frame.outputs[0] +
                           static_cast<std::size_t>(walk_.offset(v, indices) + begin) * size_;
            const std::byte* u =
                frame.inputs[2] + static_cast<std::size_t>(v * walk_.run() + begin) * size_;
            if (run_)
              run_(y, u, end - begin, meet_);
            else
              std::memcpy(y, u, static_cast<std::size_t>(end - begin) * size_);
          }
        });
    return indices.status("scatter_nd");
  }

 private:
  VectorWalk walk_;
  std::size_t bytes_, size_;
  DType index_;
  Meet meet_;
  MeetRun run_;
};

Result<LaunchPtr> bind_scatter_nd(const Node& node, std::span<const Extent> in,
                                  std::span<const Extent>) {
  VectorWalk walk(in[0].dims, in[1].dims, 0);
  if (walk.vectors() * walk.run() != in[2].count())
    return invalid("scatter_nd: {} updates for {} positions", in[2].count(),
                   walk.vectors() * walk.run());
  if (in[0].count() == 0) return unsupported("empty tensors are interpreted");
  return LaunchPtr(std::make_unique<ScatterNd>(std::move(walk), in[0], in[1].dtype,
                                               TENON_TRY(ops::meet_of(Call(node)))));
}

// ---- the kernel -----------------------------------------------------------------------------

struct Entry {
  std::string_view op;
  Result<LaunchPtr> (*bind)(const Node&, std::span<const Extent>, std::span<const Extent>);
  int first_value = 0;         // inputs from here on are wanted when binding; 0: none
  bool in_place = false;       // output 0 may take input 0's buffer
  bool needs_numbers = false;  // whatever the attributes say
};

constexpr Entry kEntries[] = {{"gather_elements", bind_gather_elements},
                              {"gather_nd", bind_gather_nd},
                              {"scatter_elements", bind_scatter_elements, 0, true},
                              {"scatter_nd", bind_scatter_nd, 0, true},
                              {"gather_adjoint", bind_gather_adjoint, 0, false, true},
                              {"slice_adjoint", bind_slice_adjoint, 2}};

const Entry* entry_of(const Node& node) {
  const auto* found = std::find_if(std::begin(kEntries), std::end(kEntries),
                                   [&](const Entry& e) { return e.op == node.op().name; });
  return found == std::end(kEntries) ? nullptr : found;
}

class PickingKernel : public Kernel {
 public:
  PickingKernel(const Node& node, const Entry& entry) : node_(node), entry_(entry) {}
  Result<LaunchPtr> bind(std::span<const Extent> in, std::span<const Extent> out) const override {
    return entry_.bind(node_, in, out);
  }
  bool wants_value(int input) const override {
    return entry_.first_value > 0 && input >= entry_.first_value;
  }
  bool may_overwrite(int input) const override { return entry_.in_place && input == 0; }
  std::string describe() const override { return "elements by index"; }

 private:
  const Node& node_;
  const Entry& entry_;
};

}  // namespace

Verdict takes_picking(const Node& node) {
  const Entry* entry = entry_of(node);
  if (!entry) return Verdict::no("");
  for (const Value* v : node.inputs())
    if (v && (!v->type().is_tensor() || !v->type().ranked() || v->type().dtype() == DType::string))
      return Verdict::no("text and tensors without rank are picked by the interpreter");
  if (!node.output(0)->type().ranked()) return Verdict::no("the rank of the result is not known");
  const bool reduces = entry->in_place && Call(node).text("reduction") != "none";
  const DType d = node.input(0)->type().dtype();
  if ((reduces || entry->needs_numbers) && (d == DType::boolean || !is_plain_number(d)))
    return Verdict::no("this element type is added by the interpreter");
  return {};
}

Result<KernelPtr> make_picking(const Node& node) {
  return KernelPtr(std::make_unique<PickingKernel>(node, *entry_of(node)));
}

}  // namespace tenon::backends::cpu
