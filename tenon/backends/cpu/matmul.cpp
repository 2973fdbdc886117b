// matmul through oneDNN: rows (or the batch) split over the pool, a constant right side packed
// once.
#include <algorithm>
#include <mutex>

#include "tenon/backends/cpu/onednn_internal.h"
#include "tenon/ops/loops.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::memory;

// a[batch, m, k] b[batch or 1, k, n]; leading axes that broadcast are walked by offsets.
struct Problem {
  std::int64_t m, k, n;
  Dims lead;              // broadcast leading sizes
  Dims a_steps, b_steps;  // strides of leading axes in matrices, 0 where broadcast
  bool shared_b = false;  // b is one matrix: all leading rows of a can be one long matrix
};

Problem problem_of(std::span<const Extent> in) {
  const Dims &a = in[0].dims, &b = in[1].dims;
  Problem p;
  p.m = a.size() > 1 ? a[a.size() - 2] : 1;
  p.k = a.back();
  p.n = b.size() > 1 ? b.back() : 1;
  const Dims la(a.begin(),
                a.end() - std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(a.size()))),
      lb(b.begin(), b.end() - std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(b.size())));
  p.lead = ops::broadcast_dims(la, lb);
  p.a_steps = ops::broadcast_strides(la, p.lead);
  p.b_steps = ops::broadcast_strides(lb, p.lead);
  p.shared_b = num_elements(lb) == 1 && num_elements(la) == num_elements(p.lead);
  if (p.shared_b) {
    p.m *= num_elements(p.lead);
    p.lead = {};
    p.a_steps = p.b_steps = {};
  }
  return p;
}

class Matmul {
 public:
  Matmul(std::int64_t m, std::int64_t k, std::int64_t n, bool packs)
      : a_({m, k}, memory::data_type::f32, memory::dims{k, 1}),
        b_({k, n}, memory::data_type::f32, memory::dims{n, 1}),
        c_({m, n}, memory::data_type::f32, memory::dims{n, 1}) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const memory::desc any({k, n}, memory::data_type::f32, memory::format_tag::any);
    dnnl::matmul::primitive_desc desc(onednn_engine(), a_, packs ? any : b_, c_, attr);
    packed_b_ = desc.weights_desc();
    scratch_ = desc.scratchpad_desc();
    implementation_ = desc.impl_info_str();
    primitive_ = dnnl::matmul(desc);
  }
  const memory::desc& plain_b() const { return b_; }
  const memory::desc& packed_b() const { return packed_b_; }
  const std::string& implementation() const { return implementation_; }
  void run(const std::byte* a, const std::byte* b, std::byte* c) const {
    primitive_.execute(
        onednn_stream(),
        {{DNNL_ARG_SRC, memory_at(a_, a)},
         {DNNL_ARG_WEIGHTS, memory_at(packed_b_, b)},
         {DNNL_ARG_DST, memory_at(c_, c)},
         {DNNL_ARG_SCRATCHPAD, memory_at(scratch_, thread_scratch(scratch_.get_size()))}});
  }

 private:
  memory::desc a_, b_, c_, packed_b_, scratch_;
  dnnl::matmul primitive_;
  std::string implementation_;
};

// Row counts differ between parts by at most one block, so few primitives serve all of them.
class MatmulLaunch : public Launch {
 public:
  MatmulLaunch(Problem p, const Tensor* constant_b)
      : p_(std::move(p)), constant_b_(constant_b != nullptr) {
    whole_ = std::make_shared<Matmul>(p_.m, p_.k, p_.n, constant_b_ && p_.shared_b);
    if (constant_b_ && p_.shared_b)
      packed_ = packed(whole_->plain_b(), constant_b->raw(), whole_->packed_b());
    parts_.emplace(p_.m, whole_);
  }

  Status run(const Frame& frame) const override {
    const std::byte *a = frame.inputs[0], *b = packed_ ? packed_->data() : frame.inputs[1];
    if (p_.lead.empty()) {
      run_rows(a, b, frame.outputs[0], frame.pool);
      return {};
    }
    const std::int64_t batch = num_elements(p_.lead), flops = 2 * p_.m * p_.k * p_.n;
    frame.pool.parallel_for(0, batch,
                            std::max<std::int64_t>(1, 200000 / std::max<std::int64_t>(1, flops)),
                            [&](std::int64_t begin, std::int64_t end) {
                              for (std::int64_t i = begin; i < end; ++i) {
                                std::int64_t rest = i, fa = 0, fb = 0;
                                for (std::size_t x = p_.lead.size(); x-- > 0;) {
                                  const std::int64_t at = rest % p_.lead[x];
                                  rest /= p_.lead[x];
                                  fa += at * p_.a_steps[x];
                                  fb += at * p_.b_steps[x];
                                }
                                whole_->run(a + fa * p_.m * p_.k * 4, b + fb * p_.k * p_.n * 4,
                                            frame.outputs[0] + i * p_.m * p_.n * 4);
                              }
                            });
    return {};
  }

 private:
  void run_rows(const std::byte* a, const std::byte* b, std::byte* c, ThreadPool& pool) const {
    constexpr std::int64_t kRowBlock = 16;
    const std::int64_t blocks = (p_.m + kRowBlock - 1) / kRowBlock,
                       work = 2 * kRowBlock * p_.k * p_.n;
    pool.parallel_for(0, blocks,
                      std::max<std::int64_t>(1, 400000 / std::max<std::int64_t>(1, work)),
                      [&](std::int64_t begin, std::int64_t end) {
                        const std::int64_t first = begin * kRowBlock,
                                           rows = std::min(p_.m, end * kRowBlock) - first;
                        part(rows)->run(a + first * p_.k * 4, b, c + first * p_.n * 4);
                      });
  }
  std::shared_ptr<const Matmul> part(std::int64_t rows) const {
    if (rows == p_.m) return whole_;
    const std::lock_guard lock(mutex_);
    auto it = parts_.find(rows);
    if (it == parts_.end()) {
      auto made = std::make_shared<Matmul>(rows, p_.k, p_.n, packed_ != nullptr);
      // The packed layout must be the whole's; where oneDNN wants another for fewer rows, b stays
      // plain.
      if (packed_ && !(made->packed_b() == whole_->packed_b())) return whole_;
      it = parts_.emplace(rows, std::move(made)).first;
    }
    return it->second;
  }

  Problem p_;
  bool constant_b_;
  std::shared_ptr<const Matmul> whole_;
  std::shared_ptr<Buffer> packed_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::int64_t, std::shared_ptr<const Matmul>> parts_;
};

// Nothing to multiply: zeros.
class ZeroLaunch : public Launch {
 public:
  explicit ZeroLaunch(std::size_t bytes) : bytes_(bytes) {}
  Status run(const Frame& frame) const override {
    if (bytes_) std::memset(frame.outputs[0], 0, bytes_);
    return {};
  }

 private:
  std::size_t bytes_;
};

class MatmulKernel : public Kernel {
 public:
  explicit MatmulKernel(const Node& node) : node_(node) {}
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> in,
                                       std::span<const Extent> out) const override {
    Problem p = problem_of(in);
    if (out[0].count() == 0 || p.k == 0)
      return std::unique_ptr<Launch>(std::make_unique<ZeroLaunch>(out[0].bytes()));
    const Value* b = node_.input(1);
    const Tensor* constant = b->is_constant() ? &b->tensor() : nullptr;
    return guarded([&] {
      return std::unique_ptr<Launch>(std::make_unique<MatmulLaunch>(std::move(p), constant));
    });
  }
  std::string describe() const override {
    return node_.input(1)->is_constant() ? "onednn matmul, right side packed" : "onednn matmul";
  }

 private:
  const Node& node_;
};

}  // namespace

Verdict takes_matmul(const Node& node) {
  if (node.op().name != "matmul") return Verdict::no("");
  if (node.input(0)->type().dtype() != DType::f32)
    return Verdict::no("only f32 products have a native kernel");
  if (!is_number(node.input(0)) || !is_number(node.input(1)))
    return Verdict::no("the rank is not known");
  return {};
}

Result<KernelPtr> make_matmul(const Node& node) {
  return KernelPtr(std::make_unique<MatmulKernel>(node));
}

}  // namespace tenon::backends::cpu
