// matmul_integer through oneDNN: bytes times bytes, summed in 32 bits, exactly.
//
// With b' = b - shift in s8 (shift 128 for u8):
//   (a - za)(b - zb) = a b' - za colsum(b') - zb' rowsum(a) + k za zb',   zb' = zb - shift.
#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "tenon/backends/cpu/integer_products_internal.h"
#include "tenon/ops/loops.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::memory;

// Raw products of m rows: a[m, k] in u8 or s8, b[k, n] in s8, y[m, n] in s32.
class Product {
 public:
  // `b`: the layout of the right side, or nullptr for the one that suits this product best.
  Product(std::int64_t m, std::int64_t k, std::int64_t n, memory::data_type a,
          const memory::desc* b)
      : a_({m, k}, a, memory::dims{k, 1}), c_({m, n}, memory::data_type::s32, memory::dims{n, 1}) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const memory::desc any({k, n}, memory::data_type::s8, memory::format_tag::any);
    const dnnl::matmul::primitive_desc desc(onednn_engine(), a_, b ? *b : any, c_, attr);
    b_ = desc.weights_desc();
    scratch_ = desc.scratchpad_desc();
    primitive_ = dnnl::matmul(desc);
  }
  const memory::desc& packed_b() const { return b_; }
  void run(const std::byte* a, const std::byte* b, std::byte* c) const {
    primitive_.execute(
        onednn_stream(),
        {{DNNL_ARG_SRC, memory_at(a_, a)},
         {DNNL_ARG_WEIGHTS, memory_at(b_, b)},
         {DNNL_ARG_DST, memory_at(c_, c)},
         {DNNL_ARG_SCRATCHPAD, memory_at(scratch_, thread_scratch(scratch_.get_size()))}});
  }

 private:
  memory::desc a_, b_, c_, scratch_;
  dnnl::matmul primitive_;
};

// One right side in oneDNN's layout, with the sums of its columns.
struct Right {
  std::shared_ptr<Buffer> packed;
  std::vector<std::int32_t> sums;  // [n]
};

Right pack_right(const std::byte* b, bool is_unsigned, std::int64_t k, std::int64_t n,
                 const memory::desc& to) {
  Right r;
  auto shifted = Buffer::allocate(static_cast<std::size_t>(k * n));
  shift_to_signed(b, is_unsigned, k * n, shifted->data());
  const auto* s = reinterpret_cast<const std::int8_t*>(shifted->data());
  r.sums.assign(static_cast<std::size_t>(n), 0);
  for (std::int64_t i = 0; i < k; ++i)
    for (std::int64_t j = 0; j < n; ++j) r.sums[static_cast<std::size_t>(j)] += s[i * n + j];
  const memory::desc plain({k, n}, memory::data_type::s8, memory::dims{n, 1});
  r.packed = packed(plain, shifted->data(), to);
  return r;
}

struct Sizes {
  std::int64_t m, k, n, batch;  // batch: products with a right side each
};

class IntegerMatmulLaunch : public Launch {
 public:
  IntegerMatmulLaunch(Sizes s, DType a, std::span<const Extent> in, const Tensor* constant_b)
      : s_(s), a_type_(a), b_unsigned_(in[1].dtype == DType::u8) {
    za_count_ = in.size() > 2 && in[2].present() ? in[2].count() : 0;
    zb_count_ = in.size() > 3 && in[3].present() ? in[3].count() : 0;
    whole_ = product(s_.m);
    if (!whole_) return;
    if (constant_b)
      right_ = pack_right(constant_b->raw(), b_unsigned_, s_.k, s_.n, whole_->packed_b());
  }
  bool is_possible() const { return whole_ != nullptr; }
  Status run(const Frame& frame) const override {
    const std::int64_t a_step = s_.m * s_.k, b_step = s_.k * s_.n, c_step = s_.m * s_.n * 4;
    for (std::int64_t i = 0; i < s_.batch; ++i) {
      const Right fresh = right_.packed ? Right{}
                                        : pack_right(frame.inputs[1] + i * b_step, b_unsigned_,
                                                     s_.k, s_.n, whole_->packed_b());
      rows(frame, right_.packed ? right_ : fresh, frame.inputs[0] + i * a_step,
           frame.outputs[0] + i * c_step);
    }
    return {};
  }

 private:
  // Equal parts of whole blocks of rows; the last one may be shorter.
  void rows(const Frame& frame, const Right& right, const std::byte* a, std::byte* c) const {
    constexpr std::int64_t kBlock = 16;
    const std::int64_t worth = std::max<std::int64_t>(1, 2 * s_.m * s_.k * s_.n / 1000000),
                       parts = std::min<std::int64_t>(frame.pool.threads(), worth),
                       each = (s_.m + parts * kBlock - 1) / (parts * kBlock) * kBlock;
    const std::int64_t count = (s_.m + each - 1) / each, rest = s_.m - (count - 1) * each;
    const auto full = count > 1 ? product(each) : whole_, last = count > 1 ? product(rest) : whole_;
    const bool splits = full && last;
    frame.pool.parallel_for(0, splits ? count : 1, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t first = splits ? i * each : 0, n = !splits          ? s_.m
                                                              : i + 1 == count ? rest
                                                                               : each;
        std::byte* y = c + first * s_.n * 4;
        (!splits          ? whole_
         : i + 1 == count ? last
                          : full)
            ->run(a + first * s_.k, right.packed->data(), y);
        correct(frame, right, a + first * s_.k, first, n, reinterpret_cast<std::int32_t*>(y));
      }
    });
  }
  void correct(const Frame& frame, const Right& right, const std::byte* a, std::int64_t first,
               std::int64_t rows, std::int32_t* y) const {
    const std::int32_t shift = b_unsigned_ ? 128 : 0;
    if (za_count_ == 0 && zb_count_ == 0 && shift == 0) return;
    std::vector<std::int32_t> zb(static_cast<std::size_t>(s_.n), -shift);
    for (std::int64_t j = 0; j < s_.n && zb_count_ > 0; ++j)
      zb[static_cast<std::size_t>(j)] +=
          byte_at(frame.inputs[3], zb_count_ > 1 ? j : 0, b_unsigned_);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int32_t za =
          za_count_ == 0
              ? 0
              : byte_at(frame.inputs[2], za_count_ > 1 ? first + i : 0, a_type_ == DType::u8);
      const std::int32_t sum = sum_of_bytes(a + i * s_.k, s_.k, a_type_ == DType::u8) -
                               static_cast<std::int32_t>(s_.k) * za;
      correct_row(y + i * s_.n, right.sums.data(), zb.data(), s_.n, za, sum);
    }
  }
  // All products take the layout of the whole's right side; nullptr where one cannot.
  std::shared_ptr<const Product> product(std::int64_t rows) const {
    const std::lock_guard lock(mutex_);
    auto it = products_.find(rows);
    if (it != products_.end()) return it->second;
    auto made = guarded([&] {
      return std::make_shared<const Product>(
          rows, s_.k, s_.n, a_type_ == DType::u8 ? memory::data_type::u8 : memory::data_type::s8,
          whole_ ? &whole_->packed_b() : nullptr);
    });
    return products_.emplace(rows, made.ok() ? *made : nullptr).first->second;
  }

  Sizes s_;
  DType a_type_;
  bool b_unsigned_;
  std::int64_t za_count_ = 0, zb_count_ = 0;
  std::shared_ptr<const Product> whole_;
  Right right_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::int64_t, std::shared_ptr<const Product>> products_;
};

class IntegerMatmulKernel : public Kernel {
 public:
  explicit IntegerMatmulKernel(const Node& node) : node_(node) {}
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> in,
                                       std::span<const Extent> out) const override {
    const Dims &a = in[0].dims, &b = in[1].dims;
    Sizes s{a[a.size() - 2], a.back(), b.back(), 1};
    if (out[0].count() == 0 || s.k == 0) return unsupported("empty products are interpreted");
    const std::int64_t a_matrices = in[0].count() / (s.m * s.k),
                       b_matrices = in[1].count() / (s.k * s.n);
    const std::int64_t za = in.size() > 2 && in[2].present() ? in[2].count() : 0;
    if (b_matrices == 1)
      s.m *= a_matrices;  // one right side: all rows are one long matrix
    else if (a_matrices == b_matrices)
      s.batch = b_matrices;
    else
      return unsupported("right sides that broadcast are interpreted");
    if (za > 1 && (za != s.m || s.batch > 1))
      return unsupported("zero points of rows that broadcast are interpreted");
    const Value* right = node_.input(1);
    const Tensor* constant = right->is_constant() && b_matrices == 1 ? &right->tensor() : nullptr;
    auto launch = std::make_unique<IntegerMatmulLaunch>(s, in[0].dtype, in, constant);
    if (!launch->is_possible()) return unsupported("onednn has no such product");
    return std::unique_ptr<Launch>(std::move(launch));
  }
  std::string describe() const override { return "onednn int8 matmul"; }

 private:
  const Node& node_;
};

}  // namespace

Verdict takes_integer_matmul(const Node& node) {
  if (node.op().name != "matmul_integer") return Verdict::no("");
  if (Verdict v = can_multiply_bytes(); !v) return v;
  for (const Value* v : node.inputs())
    if (!is_number(v)) return Verdict::no("the rank is not known");
  if (node.input(0)->type().ndim() < 2 || node.input(1)->type().ndim() < 2)
    return Verdict::no("products of vectors of bytes are composed");
  if (node.input(3) && node.input(3)->type().ndim() > 1)
    return Verdict::no("zero points of matrices are composed");
  return {};
}

Result<KernelPtr> make_integer_matmul(const Node& node) {
  return KernelPtr(std::make_unique<IntegerMatmulKernel>(node));
}

}  // namespace tenon::backends::cpu
