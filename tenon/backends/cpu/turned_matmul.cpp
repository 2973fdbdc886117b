// gemm with turned operands through oneDNN: transposes are strides, not copies. Rows of the result
// are split over the pool.
#include <algorithm>
#include <map>
#include <mutex>

#include "tenon/backends/cpu/onednn_internal.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::memory;

// y[m, n] = sum over k of a[m, k] b[k, n], a and b with any strides.
struct Problem {
  std::int64_t m, k, n;
  memory::dims a_strides, b_strides;
};

class Product {
 public:
  Product(const Problem& p, std::int64_t rows)
      : a_({rows, p.k}, memory::data_type::f32, p.a_strides),
        b_({p.k, p.n}, memory::data_type::f32, p.b_strides),
        y_({rows, p.n}, memory::data_type::f32, memory::dims{p.n, 1}) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::primitive_desc desc(onednn_engine(), a_, b_, y_, attr);
    scratch_ = desc.scratchpad_desc();
    primitive_ = dnnl::matmul(desc);
  }
  void run(const std::byte* a, const std::byte* b, std::byte* y) const {
    primitive_.execute(
        onednn_stream(),
        {{DNNL_ARG_SRC, memory_at(a_, a)},
         {DNNL_ARG_WEIGHTS, memory_at(b_, b)},
         {DNNL_ARG_DST, memory_at(y_, y)},
         {DNNL_ARG_SCRATCHPAD, memory_at(scratch_, thread_scratch(scratch_.get_size()))}});
  }

 private:
  memory::desc a_, b_, y_, scratch_;
  dnnl::matmul primitive_;
};

class TurnedMatmulLaunch : public Launch {
 public:
  explicit TurnedMatmulLaunch(Problem p) : p_(std::move(p)) { product(p_.m); }
  Status run(const Frame& frame) const override {
    // Blocks of 16 rows are what kernels like.
    const std::int64_t threads = frame.pool.threads(),
                       each = (p_.m + 16 * threads - 1) / (16 * threads) * 16,
                       parts = (p_.m + each - 1) / each;
    frame.pool.parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t first = i * each, rows = std::min(each, p_.m - first);
        product(rows).run(frame.inputs[0] + first * p_.a_strides[0] * 4, frame.inputs[1],
                          frame.outputs[0] + first * p_.n * 4);
      }
    });
    return {};
  }

 private:
  const Product& product(std::int64_t rows) const {
    const std::lock_guard lock(mutex_);
    auto& p = products_[rows];
    if (!p) p = std::make_unique<Product>(p_, rows);
    return *p;
  }
  Problem p_;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, std::unique_ptr<const Product>> products_;
};

class TurnedMatmulKernel : public Kernel {
 public:
  explicit TurnedMatmulKernel(const Node& node) : node_(node) {}
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> in,
                                       std::span<const Extent> out) const override {
    if (in[0].count() == 0 || in[1].count() == 0)
      return unsupported("empty products are interpreted");
    const Call call(node_);
    const bool ta = call.flag("trans_a"), tb = call.flag("trans_b");
    const std::int64_t m = out[0].dims[0], n = out[0].dims[1], k = in[0].dims[ta ? 0 : 1];
    Problem p{m, k, n, ta ? memory::dims{1, m} : memory::dims{k, 1},
              tb ? memory::dims{1, k} : memory::dims{n, 1}};
    return guarded([&] {
      return std::unique_ptr<Launch>(std::make_unique<TurnedMatmulLaunch>(std::move(p)));
    });
  }
  std::string describe() const override { return "onednn matmul of turned operands"; }

 private:
  const Node& node_;
};

}  // namespace

Verdict takes_turned_matmul(const Node& node) {
  if (node.op().name != "gemm") return Verdict::no("");
  const Call call(node);
  if (node.input(2) || call.real("alpha") != 1 || !(call.flag("trans_a") || call.flag("trans_b")))
    return Verdict::no("this form of gemm is a matmul and what is around it");
  if (node.input(0)->is_constant() || node.input(1)->is_constant())
    return Verdict::no("constant operands are turned once, and packed");
  if (node.input(0)->type().dtype() != DType::f32 || !is_number(node.input(0)) ||
      !is_number(node.input(1)))
    return Verdict::no("only f32 products have a native kernel");
  return {};
}

Result<KernelPtr> make_turned_matmul(const Node& node) {
  return KernelPtr(std::make_unique<TurnedMatmulKernel>(node));
}

}  // namespace tenon::backends::cpu
