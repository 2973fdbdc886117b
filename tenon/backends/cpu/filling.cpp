// Numbers that no input holds: range, size, and random numbers by counter.
#include <algorithm>
#include <cmath>

#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/backends/cpu/numbers_internal.h"
#include "tenon/base/random.h"

namespace tenon::backends::cpu {
namespace {

using LaunchPtr = std::unique_ptr<Launch>;

// y[i] = start + i * delta, in double or i64 as the interpreter computes it
template <class T>
class RangeLaunch : public Launch {
 public:
  using W = std::conditional_t<is_real<T>, double, std::int64_t>;
  explicit RangeLaunch(std::int64_t count) : count_(count) {}
  Status run(const Frame& frame) const override {
    const auto scalar = [&](std::size_t i) {
      return static_cast<W>(static_cast<Wide<T>>(*reinterpret_cast<const T*>(frame.inputs[i])));
    };
    const W start = scalar(0), delta = scalar(2);
    T* y = reinterpret_cast<T*>(frame.outputs[0]);
    for (std::int64_t i = 0; i < count_; ++i)
      y[i] = static_cast<T>(
          static_cast<Wide<T>>(wrapping_add(start, wrapping_mul(static_cast<W>(i), delta))));
    return {};
  }

 private:
  std::int64_t count_;
};

class SizeLaunch : public Launch {
 public:
  explicit SizeLaunch(std::int64_t size) : size_(size) {}
  Status run(const Frame& frame) const override {
    *reinterpret_cast<std::int64_t*>(frame.outputs[0]) = size_;
    return {};
  }

 private:
  std::int64_t size_;
};

// Number k is that of the interpreter, whatever the split: start + width * u, or mean + scale * n.
struct Draw {
  bool is_normal = false;
  double start = 0, width = 1;
  std::uint64_t seed = 0;
  int key_input = 0;  // an i64 scalar, may be absent

  static Draw of(const Node& node) {
    const Call call(node);
    Draw d;
    d.is_normal = node.op().name == "random_normal_like";
    d.start = call.real(d.is_normal ? "mean" : "low");
    d.width = d.is_normal ? call.real("scale") : call.real("high") - d.start;
    d.seed = static_cast<std::uint64_t>(call.integer("seed"));
    d.key_input = 1;
    return d;
  }
};

template <class T>
class DrawLaunch : public Launch {
 public:
  DrawLaunch(Draw draw, std::int64_t count) : draw_(draw), count_(count) {}
  Status run(const Frame& frame) const override {
    const auto key = static_cast<std::size_t>(draw_.key_input);
    const std::int64_t stream = key < frame.inputs.size() && frame.inputs[key]
                                    ? *reinterpret_cast<const std::int64_t*>(frame.inputs[key])
                                    : 0;
    T* y = reinterpret_cast<T*>(frame.outputs[0]);
    constexpr bool kTakesTwo = sizeof(T) == 8;
    frame.pool.parallel_for(0, count_, 4096, [&](std::int64_t begin, std::int64_t end) {
      CounterRandom random(draw_.seed, static_cast<std::uint64_t>(stream));
      const bool takes_two = draw_.is_normal || kTakesTwo;
      for (std::int64_t k = begin; k < end; ++k) {
        random.seek(static_cast<std::uint64_t>(takes_two ? 2 * k : k));
        const double u = draw_.is_normal ? random.normal()
                         : kTakesTwo     ? random.uniform_double()
                                         : static_cast<double>(random.uniform());
        y[k] = static_cast<T>(static_cast<Wide<T>>(draw_.start + draw_.width * u));
      }
    });
    return {};
  }

 private:
  Draw draw_;
  std::int64_t count_;
};

class FillingKernel : public Kernel {
 public:
  explicit FillingKernel(const Node& node) : node_(node) {}
  Result<LaunchPtr> bind(std::span<const Extent> in, std::span<const Extent> out) const override {
    if (node_.op().name == "size") return LaunchPtr(std::make_unique<SizeLaunch>(in[0].count()));
    return visit_number(out[0].dtype, [&]<class T>(T) -> Result<LaunchPtr> {
      if (node_.op().name == "range")
        return LaunchPtr(std::make_unique<RangeLaunch<T>>(out[0].count()));
      if constexpr (is_real<T>)
        return LaunchPtr(std::make_unique<DrawLaunch<T>>(Draw::of(node_), out[0].count()));
      else
        return unsupported("whole numbers are not drawn");
    });
  }
  std::string describe() const override {
    return node_.op().has(Trait::random) ? "random numbers by counter" : "known sizes";
  }

 private:
  const Node& node_;
};

}  // namespace

Verdict takes_filling(const Node& node) {
  const std::string_view op = node.op().name;
  const bool draws = op == "random_uniform_like" || op == "random_normal_like";
  if (!draws && op != "range" && op != "size") return Verdict::no("");
  if (node.output(0)->type().dtype() != DType::undefined &&
      !is_plain_number(node.output(0)->type().dtype()))
    return Verdict::no("this element type is filled by the interpreter");
  for (const Value* v : node.inputs())
    if (v && (!v->type().is_tensor() || !v->type().ranked()))
      return Verdict::no("tensors without rank are filled by the interpreter");
  return {};
}

Result<KernelPtr> make_filling(const Node& node) {
  return KernelPtr(std::make_unique<FillingKernel>(node));
}

}  // namespace tenon::backends::cpu
