// Attention without scores in memory: blocks of queries in the lanes, blocks of keys one after the
// other, with a running maximum and sum for each query (Milakov and Gimelshein, "Online normalizer
// calculation for softmax", 2018; Dao et al., "FlashAttention", 2022).
//
//   for each head, for each block of queries:          qt[d, s]: the queries turned
//     for each block of keys:                          k and v are read where they lie
//       st[t, s]  = k[t, :] qt[:, s]
//       top'      = max(top, max over t of modify(st))
//       st        = e^(modify(st) - top');  shrink = e^(top - top');  sum = sum * shrink + sum of
//       st yt[e, s]  = yt * shrink + v[t, e] st[t, s]
//     y[s, e] = yt / sum, turned back
#include <xmmintrin.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "tenon/backends/cpu/attention_internal.h"
#include "tenon/backends/cpu/loop_launch_internal.h"
#include "tenon/codegen/expr_text.h"
#include "tenon/codegen/tiles.h"

namespace tenon::backends::cpu {
namespace {

using codegen::InnerStride;
using codegen::KernelCache;
using codegen::LoopFunction;
using codegen::LoopProgram;
using codegen::Target;
using codegen::TileProductFunction;
using codegen::UnitStride;

constexpr std::int64_t kMaxQueries = 128, kKeys = 128;  // of a block
constexpr DType kF = DType::f32;

std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

InnerStride lane_stride(std::int64_t stride) {
  return stride == 0 ? InnerStride::zero : stride == 1 ? InnerStride::one : InnerStride::any;
}

// Inputs: x0 scores, x1 top, x2 sum, then masks. Outputs: scores, top, sum, shrink. Lanes are
// queries, the row is a block of keys.
LoopProgram softmax_program(const AttentionProblem& p, bool modifies) {
  LoopProgram program;
  program.num_kept = program.num_row = 1;
  program.inputs = {{kF, InnerStride::one}, {kF, InnerStride::one}, {kF, InnerStride::one}};
  Exprs operands = {Expr::input(0, kF)};
  for (std::size_t i = 0; modifies && i < p.masks.size(); ++i) {
    program.inputs.push_back({p.mask_types[i], lane_stride(p.mask_views[i].row)});
    operands.push_back(Expr::input(static_cast<int>(i) + 3, p.mask_types[i]));
  }
  program.outputs.assign(4, {kF, InnerStride::one});
  program.scalars.assign(5, kF);
  const auto scalar = [&](int i) {
    return Expr::input(static_cast<int>(program.inputs.size()) + i, kF);
  };
  const auto set = [](int i, Expr e, codegen::Combine c = codegen::Combine::none) {
    return codegen::LoopStatement{std::move(e), Target::scalar, i, c};
  };
  const auto put = [](int i, Expr e) {
    return codegen::LoopStatement{std::move(e), Target::output, i, codegen::Combine::none};
  };
  const Expr score = modifies ? codegen::with_inputs(p.modify, operands) : operands[0];
  const bool keeps = modifies && !p.masks.empty();  // what masks did is not done twice
  codegen::LoopStep find{true, {set(0, score, codegen::Combine::max)}};
  if (keeps) find.statements.insert(find.statements.begin(), put(0, score));
  // A query that has seen nothing yet has top -infinity: nothing is subtracted then.
  const Expr none = Expr::constant(-std::numeric_limits<double>::infinity(), kF);
  codegen::LoopStep settle{
      false,
      {set(1, scalar::max(Expr::input(1, kF), scalar(0))),
       set(2, scalar::select(scalar::equal(scalar(1), none), scalar::like(none, 0), scalar(1))),
       set(3, scalar::exp(Expr::input(1, kF) - scalar(2))), put(1, scalar(1)), put(3, scalar(3))}};
  const Expr e = scalar::exp((keeps ? operands[0] : score) - scalar(2));
  program.steps = {std::move(find),
                   std::move(settle),
                   {true, {put(0, e), set(4, e, codegen::Combine::sum)}},
                   {false, {put(2, Expr::input(2, kF) * scalar(3) + scalar(4))}}};
  program.schedule = codegen::default_schedule(program, host_isa());
  return program;
}

// scores = modify(scores, masks), for blocks that are cut afterwards
LoopProgram modify_program(const AttentionProblem& p) {
  LoopProgram program;
  program.num_kept = 2;
  program.inputs = {{kF, InnerStride::one}};
  Exprs operands = {Expr::input(0, kF)};
  for (std::size_t i = 0; i < p.masks.size(); ++i) {
    program.inputs.push_back({p.mask_types[i], lane_stride(p.mask_views[i].row)});
    operands.push_back(Expr::input(static_cast<int>(i) + 1, p.mask_types[i]));
  }
  program.outputs = {{kF, InnerStride::one}};
  program.steps = {{false, {{codegen::with_inputs(p.modify, operands), Target::output, 0}}}};
  program.schedule = codegen::default_schedule(program, host_isa());
  return program;
}

std::int64_t offset_in(const HeadView& view, const Dims& lead, std::int64_t index) {
  std::int64_t offset = view.offset;
  for (std::size_t a = lead.size(); a-- > 0;) {
    offset += index % lead[a] * view.lead[a];
    index /= lead[a];
  }
  return offset;
}

// While it lives, this thread treats subnormal numbers as 0: masks like -100 leave probabilities of
// 1e-44, which change no result but cost a hundred times as much in a product.
class SubnormalsOff {
 public:
  SubnormalsOff() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }  // FTZ, DAZ
  ~SubnormalsOff() { _mm_setcsr(before_); }
  SubnormalsOff(const SubnormalsOff&) = delete;
  SubnormalsOff& operator=(const SubnormalsOff&) = delete;

 private:
  unsigned before_;
};

struct Product {
  TileProductFunction run = nullptr;
  int columns = 1;
};

class AttentionLaunch : public Launch {
 public:
  explicit AttentionLaunch(AttentionProblem problem) : p_(std::move(problem)) {}

  Status prepare() {
    auto& cache = KernelCache::instance();
    const Isa isa = host_isa();
    TENON_TRY(make_product(p_.k.column == 1 || p_.d == 1, keys_, isa));
    TENON_TRY(make_product(p_.v.column != 1 && p_.e != 1, values_, isa));
    queries_ = std::min(kMaxQueries, round_up(p_.s, keys_.columns));
    TENON_TRY(load(cache.get(codegen::tile_transpose_for(isa)), turn_));
    TENON_TRY(load(cache.get(softmax_program(p_, true)), softmax_));
    if (p_.is_causal) {
      TENON_TRY(load(cache.get(softmax_program(p_, false)), plain_softmax_));
      TENON_TRY(load(cache.get(modify_program(p_)), modify_));
    }
    codegen::LoopNest finish;
    finish.num_axes = 2;
    finish.inputs = {{kF, InnerStride::one}, {kF, InnerStride::one}};
    finish.outputs = {{kF, InnerStride::one}};
    finish.exprs = {Expr::input(0, kF) * Expr::input(1, kF)};
    return load(cache.get(finish), finish_);
  }

  Status run(const Frame& frame) const override {
    const std::int64_t blocks = (p_.s + queries_ - 1) / queries_;
    frame.pool.parallel_chunks(0, num_elements(p_.lead) * blocks, 1,
                               [&](int, std::int64_t begin, std::int64_t end) {
                                 const SubnormalsOff scope;
                                 for (std::int64_t i = begin; i < end; ++i)
                                   block(frame, i / blocks, i % blocks * queries_);
                               });
    return {};
  }

 private:
  // Everything of one block of queries, in the memory of the thread.
  struct Tile {
    float *qt, *st, *yt, *top, *sum, *shrink;
    std::int64_t head, first, queries;  // queries in use
  };

  Status load(Result<codegen::LoadedLoop> made, codegen::LoadedLoop& into) {
    into = TENON_TRY(std::move(made));
    return {};
  }
  Status make_product(bool depth, Product& into, Isa isa) {
    const auto tile = codegen::tile_product_for(isa, depth ? UnitStride::depth : UnitStride::rows);
    auto loop = TENON_TRY(KernelCache::instance().get(tile));
    into = {loop.as<TileProductFunction>(), tile.columns()};
    kept_.push_back(std::move(loop));
    return {};
  }

  const float* data(const Frame& frame, int argument, const HeadView& view,
                    std::int64_t head) const {
    return reinterpret_cast<const float*>(frame.inputs[static_cast<std::size_t>(argument)]) +
           offset_in(view, p_.lead, head);
  }
  std::int64_t keys_of(const Frame& frame, std::int64_t head) const {
    if (p_.lens < 0) return p_.t;
    const std::byte* lens = frame.inputs[static_cast<std::size_t>(p_.lens)];
    const std::int64_t batch = head / (num_elements(p_.lead) / p_.lead[0]);
    std::int64_t n = 0;
    if (p_.lens_type == DType::i32) {
      std::int32_t narrow = 0;
      std::memcpy(&narrow, lens + batch * 4, 4);
      n = narrow;
    } else {
      std::memcpy(&n, lens + batch * 8, 8);
    }
    return std::clamp<std::int64_t>(n, 0, p_.t);
  }

  void block(const Frame& frame, std::int64_t head, std::int64_t first) const {
    const std::int64_t n = queries_;
    auto* memory = reinterpret_cast<float*>(
        thread_scratch(static_cast<std::size_t>(n * (p_.d + kKeys + p_.e + 3)) * sizeof(float)));
    Tile t{};
    t.qt = memory;
    t.st = t.qt + n * p_.d;
    t.yt = t.st + n * kKeys;
    t.top = t.yt + n * p_.e;
    t.sum = t.top + n;
    t.shrink = t.sum + n;
    t.head = head;
    t.first = first;
    t.queries = std::min(n, p_.s - first);
    std::fill_n(t.top, n, -std::numeric_limits<float>::infinity());
    std::fill_n(t.sum, 2 * n, 0.0f);
    std::memset(t.yt, 0, static_cast<std::size_t>(n * p_.e) * sizeof(float));
    read_queries(frame, t);
    std::int64_t keys = keys_of(frame, head);
    if (p_.is_causal) keys = std::min(keys, first + t.queries);
    for (std::int64_t k = 0; k < keys; k += kKeys) add_keys(frame, t, k, std::min(kKeys, keys - k));
    write_result(frame, t);
  }

  void read_queries(const Frame& frame, const Tile& t) const {
    const float* q = data(frame, p_.q_argument, p_.q, t.head) + t.first * p_.q.row;
    if (t.queries < queries_)
      std::memset(t.qt, 0, static_cast<std::size_t>(queries_ * p_.d) * sizeof(float));
    if (p_.q.column == 1)
      return turn_.as<codegen::TileTransposeFunction>()(q, t.qt, t.queries, p_.d, p_.q.row,
                                                        queries_);
    for (std::int64_t d = 0; d < p_.d; ++d)
      for (std::int64_t s = 0; s < t.queries; ++s)
        t.qt[d * queries_ + s] = q[s * p_.q.row + d * p_.q.column];
  }

  void add_keys(const Frame& frame, const Tile& t, std::int64_t first, std::int64_t n) const {
    const std::int64_t w = queries_, panels = w / keys_.columns;
    const float* k = data(frame, p_.k_argument, p_.k, t.head) + first * p_.k.row;
    const codegen::TileProductArguments scores{n, p_.d,          panels, p_.k.row,     p_.k.column,
                                               w, keys_.columns, w,      keys_.columns};
    keys_.run(k, t.qt, t.st, nullptr, &scores);
    const bool is_cut = p_.is_causal && first + n - 1 > t.first;
    if (is_cut) cut(frame, t, first, n);
    soften(frame, t, first, n, !is_cut);
    const float* v = data(frame, p_.v_argument, p_.v, t.head) + first * p_.v.row;
    const codegen::TileProductArguments sums{
        p_.e, n, panels, p_.v.column, p_.v.row, w, values_.columns, w, values_.columns};
    values_.run(v, t.st, t.yt, t.shrink, &sums);
  }

  // Pointers and strides of the masks, for a block; lanes run over queries.
  struct Operands {
    std::array<const std::byte*, 16> at{};
    std::array<std::int64_t, 32> strides{};  // [operand][query, key]
    std::size_t n = 0;
    void add(const void* data, std::int64_t query, std::int64_t key) {
      at[n] = static_cast<const std::byte*>(data);
      strides[2 * n] = query;
      strides[2 * n + 1] = key;
      ++n;
    }
  };
  void add_masks(const Frame& frame, const Tile& t, std::int64_t first, Operands& o) const {
    for (std::size_t i = 0; i < p_.masks.size(); ++i) {
      const HeadView& m = p_.mask_views[i];
      const std::int64_t at = offset_in(m, p_.lead, t.head) + t.first * m.row + first * m.column;
      o.add(frame.inputs[static_cast<std::size_t>(p_.masks[i])] + at * size_of(p_.mask_types[i]),
            m.row, m.column);
    }
  }

  // What lies above the diagonal becomes -infinity, after everything else that modifies scores.
  void cut(const Frame& frame, const Tile& t, std::int64_t first, std::int64_t n) const {
    Operands o;
    o.add(t.st, 1, queries_);
    add_masks(frame, t, first, o);
    std::byte* out[] = {reinterpret_cast<std::byte*>(t.st)};
    // kept axes: keys, then queries in the lanes
    std::array<std::int64_t, 32> strides{};
    for (std::size_t i = 0; i < o.n; ++i)
      strides[2 * i] = o.strides[2 * i + 1], strides[2 * i + 1] = o.strides[2 * i];
    strides[2 * o.n] = queries_;
    strides[2 * o.n + 1] = 1;
    const std::int64_t sizes[] = {n, t.queries};
    modify_.function(o.at.data(), out, sizes, strides.data(), 0, n);
    for (std::int64_t k = 0; k < n; ++k)
      std::fill_n(t.st + k * queries_, std::clamp<std::int64_t>(first + k - t.first, 0, t.queries),
                  -std::numeric_limits<float>::infinity());
  }

  void soften(const Frame& frame, const Tile& t, std::int64_t first, std::int64_t n,
              bool modifies) const {
    Operands o;
    o.add(t.st, 1, queries_);
    o.add(t.top, 1, 0);
    o.add(t.sum, 1, 0);
    if (modifies) add_masks(frame, t, first, o);
    std::byte* out[] = {reinterpret_cast<std::byte*>(t.st), reinterpret_cast<std::byte*>(t.top),
                        reinterpret_cast<std::byte*>(t.sum),
                        reinterpret_cast<std::byte*>(t.shrink)};
    o.add(nullptr, 1, queries_);  // only the strides of results are read from here
    for (int i = 0; i < 3; ++i) o.add(nullptr, 1, 0);
    const std::int64_t sizes[] = {t.queries, n};
    (modifies ? softmax_ : plain_softmax_)
        .function(o.at.data(), out, sizes, o.strides.data(), 0, t.queries);
  }

  void write_result(const Frame& frame, const Tile& t) const {
    for (std::int64_t s = 0; s < t.queries; ++s) {
      const bool is_zero =
          (p_.empty_gives_zero && t.sum[s] == 0) || (p_.nan_gives_zero && !(t.sum[s] > 0));
      t.sum[s] = is_zero ? 0.0f : 1.0f / t.sum[s];
      for (std::int64_t e = 0; is_zero && e < p_.e; ++e) t.yt[e * queries_ + s] = 0;
    }
    const std::byte* in[] = {reinterpret_cast<const std::byte*>(t.yt),
                             reinterpret_cast<const std::byte*>(t.sum)};
    std::byte* out[] = {reinterpret_cast<std::byte*>(t.yt)};
    const std::int64_t sizes[] = {p_.e, t.queries}, strides[] = {queries_, 1, 0, 1, queries_, 1};
    finish_.function(in, out, sizes, strides, 0, p_.e);
    float* y = reinterpret_cast<float*>(frame.outputs[0]) + offset_in(p_.y, p_.lead, t.head) +
               t.first * p_.y.row;
    if (p_.y.column == 1)
      return turn_.as<codegen::TileTransposeFunction>()(t.yt, y, p_.e, t.queries, queries_,
                                                        p_.y.row);
    for (std::int64_t s = 0; s < t.queries; ++s)
      for (std::int64_t e = 0; e < p_.e; ++e)
        y[s * p_.y.row + e * p_.y.column] = t.yt[e * queries_ + s];
  }

  AttentionProblem p_;
  Product keys_, values_;
  std::int64_t queries_ = 1;
  codegen::LoadedLoop turn_, softmax_, plain_softmax_, modify_, finish_;
  std::vector<codegen::LoadedLoop> kept_;
};

}  // namespace

Result<std::unique_ptr<Launch>> attention_launch(AttentionProblem problem) {
  auto launch = std::make_unique<AttentionLaunch>(std::move(problem));
  TENON_TRY(launch->prepare());
  return std::unique_ptr<Launch>(std::move(launch));
}

}  // namespace tenon::backends::cpu
