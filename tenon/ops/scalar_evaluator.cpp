// Evaluates scalar expressions over tensors, a block of elements at a time.
//
// Every node rounds to its own type (f32 and smaller floats compute in float), so that ties and
// kinks fall where a kernel that computes in that type puts them.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "tenon/ops/interpreter.h"
#include "tenon/ops/loops.h"

namespace tenon::ops {
namespace {

constexpr std::size_t kBlock = 1024;

// One value of each element of a block: floats in `f`, everything else in `i`.
struct Lanes {
  std::array<double, kBlock> f;
  std::array<std::int64_t, kBlock> i;
};

double round_to(double v, DType d) {
  return d == DType::f64 ? v : static_cast<double>(static_cast<float>(v));
}

std::int64_t wrap(std::int64_t v, DType d) {
  switch (d) {
    case DType::i8: return static_cast<std::int8_t>(v);
    case DType::i16: return static_cast<std::int16_t>(v);
    case DType::i32: return static_cast<std::int32_t>(v);
    case DType::u8: return static_cast<std::uint8_t>(v);
    case DType::u16: return static_cast<std::uint16_t>(v);
    case DType::u32: return static_cast<std::uint32_t>(v);
    case DType::i4: return ((v & 15) ^ 8) - 8;
    case DType::u4: return v & 15;
    case DType::i2: return ((v & 3) ^ 2) - 2;
    case DType::u2: return v & 3;
    case DType::boolean: return v != 0;
    case DType::undefined:
    case DType::f32:
    case DType::f64:
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f8e8m0:
    case DType::f4e2m1:
    case DType::i64:
    case DType::u64:
    case DType::c64:
    case DType::c128:
    case DType::string: break;
  }
  return v;
}

bool is_unsigned(DType d) {
  return class_of(d) == DTypeClass::unsigned_integer || d == DType::boolean;
}

double digamma(double x) {  // asymptotic series after shifting; Abramowitz and Stegun 6.3.18
  if (x <= 0 && x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
  if (x < 0) return digamma(1 - x) - M_PI / std::tan(M_PI * x);
  double shift = 0;
  for (; x < 10; ++x) shift -= 1 / x;
  const double y = 1 / (x * x);
  return shift + std::log(x) - 0.5 / x -
         y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y / 132))));
}

double unary(ScalarOp op, double x) {
  switch (op) {
    // clang-format off
#define CASE(name, value) case ScalarOp::name: return value;
    CASE(neg, -x) CASE(abs, std::fabs(x)) CASE(sign, std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0)))
    CASE(floor, std::floor(x)) CASE(ceil, std::ceil(x)) CASE(round_even, std::nearbyint(x)) CASE(trunc, std::trunc(x))
    CASE(exp, std::exp(x)) CASE(expm1, std::expm1(x)) CASE(log, std::log(x)) CASE(log1p, std::log1p(x)) CASE(sqrt, std::sqrt(x))
    CASE(sin, std::sin(x)) CASE(cos, std::cos(x)) CASE(tan, std::tan(x)) CASE(asin, std::asin(x)) CASE(acos, std::acos(x))
    CASE(atan, std::atan(x)) CASE(sinh, std::sinh(x)) CASE(cosh, std::cosh(x)) CASE(tanh, std::tanh(x))
    CASE(asinh, std::asinh(x)) CASE(acosh, std::acosh(x)) CASE(atanh, std::atanh(x)) CASE(erf, std::erf(x))
    CASE(lgamma, std::lgamma(x)) CASE(digamma, digamma(x))
// clang-format on
#undef CASE
                                            default : break;
  }
  TENON_CHECK(false, "{} of a float", name(op));
  return 0;
}

std::int64_t unary_int(ScalarOp op, std::int64_t x, DType d) {
  switch (op) {
    case ScalarOp::neg: return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x));
    case ScalarOp::abs:
      return is_unsigned(d) || x >= 0
                 ? x
                 : static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x));
    case ScalarOp::sign: return is_unsigned(d) ? x != 0 : (x > 0) - (x < 0);
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round_even:
    case ScalarOp::trunc: return x;
    case ScalarOp::bit_not: return ~x;
    case ScalarOp::logical_not: return x == 0;
    default: break;
  }
  TENON_CHECK(false, "{} of an integer", name(op));
  return 0;
}

double binary(ScalarOp op, double a, double b) {
  switch (op) {
    case ScalarOp::add: return a + b;
    case ScalarOp::sub: return a - b;
    case ScalarOp::mul: return a * b;
    case ScalarOp::div: return a / b;
    case ScalarOp::rem: return std::fmod(a, b);
    case ScalarOp::pow: return std::pow(a, b);
    case ScalarOp::atan2: return std::atan2(a, b);
    case ScalarOp::min:
      return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN()
                                            : std::min(a, b);
    case ScalarOp::max:
      return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN()
                                            : std::max(a, b);
    default: break;
  }
  TENON_CHECK(false, "{} of floats", name(op));
  return 0;
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  std::uint64_t result = 1, b = static_cast<std::uint64_t>(base);
  for (; exponent; exponent >>= 1, b *= b)
    if (exponent & 1) result *= b;
  return static_cast<std::int64_t>(result);
}

// Division by zero gives 0 and the most negative value divided by -1 wraps: no trap on any input.
std::int64_t divide(std::int64_t a, std::int64_t b, DType d, bool remainder) {
  if (b == 0) return 0;
  if (d == DType::u64) {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return static_cast<std::int64_t>(remainder ? x % y : x / y);
  }
  if (b == -1) return remainder ? 0 : static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
  return remainder ? a % b : a / b;
}

std::int64_t shift(ScalarOp op, std::int64_t a, std::int64_t b, DType d) {
  const int bits = bits_of(d);
  if (b < 0 || b >= bits) return 0;
  if (op == ScalarOp::shift_left)
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b);
  return is_unsigned(d) ? static_cast<std::int64_t>(static_cast<std::uint64_t>(a) >> b) : a >> b;
}

bool less(std::int64_t a, std::int64_t b, DType d) {
  return d == DType::u64 ? static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b) : a < b;
}

std::int64_t binary_int(ScalarOp op, std::int64_t a, std::int64_t b, DType d) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  switch (op) {
    case ScalarOp::add: return static_cast<std::int64_t>(x + y);
    case ScalarOp::sub: return static_cast<std::int64_t>(x - y);
    case ScalarOp::mul: return static_cast<std::int64_t>(x * y);
    case ScalarOp::div: return divide(a, b, d, false);
    case ScalarOp::rem: return divide(a, b, d, true);
    case ScalarOp::pow: return power(a, b);
    case ScalarOp::min: return less(b, a, d) ? b : a;
    case ScalarOp::max: return less(a, b, d) ? b : a;
    case ScalarOp::bit_and: return a & b;
    case ScalarOp::bit_or: return a | b;
    case ScalarOp::bit_xor: return a ^ b;
    case ScalarOp::shift_left:
    case ScalarOp::shift_right: return shift(op, a, b, d);
    case ScalarOp::logical_and: return a && b;
    case ScalarOp::logical_or: return a || b;
    case ScalarOp::logical_xor: return (a != 0) != (b != 0);
    default: break;
  }
  TENON_CHECK(false, "{} of integers", name(op));
  return 0;
}

bool is_comparison(ScalarOp op) {
  return op == ScalarOp::equal || op == ScalarOp::less || op == ScalarOp::less_equal;
}

std::int64_t compare(ScalarOp op, const Lanes& a, const Lanes& b, std::size_t k, DType d) {
  if (is_floating(d)) {
    const double x = a.f[k], y = b.f[k];
    return op == ScalarOp::equal ? x == y : op == ScalarOp::less ? x < y : x <= y;
  }
  const std::int64_t x = a.i[k], y = b.i[k];
  return op == ScalarOp::equal ? x == y : op == ScalarOp::less ? less(x, y, d) : !less(y, x, d);
}

double cast_float(double v, const ExprNode& n) {
  if (n.dtype == DType::f64) return v;
  if (n.dtype == DType::f32) return static_cast<double>(static_cast<float>(v));
  return decode_mini(encode_mini(v, n.dtype, n.overflow, n.rounding), n.dtype);
}

std::int64_t float_to_int(double v,
                          DType d) {  // toward zero; out of range saturates to 64 bits, then wraps
  if (d == DType::boolean) return v != 0;
  if (std::isnan(v)) return wrap(0, d);
  if (v >= 18446744073709551616.0) return wrap(-1, d);
  if (v >= 9223372036854775808.0)
    return wrap(static_cast<std::int64_t>(static_cast<std::uint64_t>(v)), d);
  if (v < -9223372036854775808.0) return wrap(std::numeric_limits<std::int64_t>::min(), d);
  return wrap(static_cast<std::int64_t>(v), d);
}

double int_to_double(std::int64_t v, DType d) {
  return d == DType::u64 ? static_cast<double>(static_cast<std::uint64_t>(v))
                         : static_cast<double>(v);
}

void cast_block(const ExprNode& n, const Lanes& x, Lanes& out, std::size_t count) {
  const DType from = n.args[0].dtype(), to = n.dtype;
  for (std::size_t k = 0; k < count; ++k) {
    if (is_floating(from) && is_floating(to))
      out.f[k] = cast_float(x.f[k], n);
    else if (is_floating(to))
      out.f[k] = cast_float(int_to_double(x.i[k], from), n);
    else if (is_floating(from))
      out.i[k] = float_to_int(x.f[k], to);
    else
      out.i[k] = wrap(x.i[k], to);
  }
}

class Evaluator {
 public:
  Evaluator(const std::vector<Tensor>& inputs, const Dims& out_dims) : inputs_(inputs) {
    for (const Tensor& t : inputs) strides_.push_back(broadcast_strides(t.dims(), out_dims));
    offsets_.resize(inputs.size());
  }
  void set_offsets(std::size_t lane, const Dims& at) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) offsets_[i][lane] = offset_of(at, strides_[i]);
  }
  const Lanes& block(const Expr& e, std::size_t count) {
    memo_.clear();
    return eval(e, count);
  }
  std::int64_t operations() const { return operations_; }

 private:
  const Lanes& eval(const Expr& e, std::size_t count) {
    auto [it, fresh] = memo_.try_emplace(e.id());
    if (!fresh) return *it->second;
    auto lanes = std::make_unique<Lanes>();
    compute(e.node(), *lanes, count);
    return *(memo_[e.id()] = std::move(lanes));
  }
  void compute(const ExprNode& n, Lanes& out, std::size_t count) {
    if (n.op == ScalarOp::input) return load(n, out, count);
    if (n.op == ScalarOp::constant) return fill(n, out, count);
    if (n.op == ScalarOp::cast) return cast_block(n, eval(n.args[0], count), out, count);
    operations_ += static_cast<std::int64_t>(count);
    if (n.op == ScalarOp::select) return select(n, out, count);
    if (n.args.size() == 1) return unary_block(n, eval(n.args[0], count), out, count);
    binary_block(n, eval(n.args[0], count), eval(n.args[1], count), out, count);
  }
  void load(const ExprNode& n, Lanes& out, std::size_t count) {
    const auto i = static_cast<std::size_t>(n.input);
    for (std::size_t k = 0; k < count; ++k)
      if (is_floating(n.dtype))
        out.f[k] = element(inputs_[i], offsets_[i][k]);
      else
        out.i[k] = integer_element(inputs_[i], offsets_[i][k]);
  }
  static void fill(const ExprNode& n, Lanes& out, std::size_t count) {
    std::fill_n(
        out.f.begin(), count,
        n.dtype == DType::f64 ? n.number : static_cast<double>(static_cast<float>(n.number)));
    std::fill_n(out.i.begin(), count, n.integer);
  }
  void select(const ExprNode& n, Lanes& out, std::size_t count) {
    const Lanes &c = eval(n.args[0], count), &a = eval(n.args[1], count),
                &b = eval(n.args[2], count);
    for (std::size_t k = 0; k < count; ++k) {
      out.f[k] = c.i[k] ? a.f[k] : b.f[k];
      out.i[k] = c.i[k] ? a.i[k] : b.i[k];
    }
  }
  static void unary_block(const ExprNode& n, const Lanes& x, Lanes& out, std::size_t count) {
    const DType from = n.args[0].dtype();
    for (std::size_t k = 0; k < count; ++k) {
      if (n.op == ScalarOp::is_nan)
        out.i[k] = is_floating(from) && std::isnan(x.f[k]);
      else if (n.op == ScalarOp::is_inf)
        out.i[k] = is_floating(from) && std::isinf(x.f[k]);
      else if (is_floating(n.dtype))
        out.f[k] = round_to(unary(n.op, x.f[k]), n.dtype);
      else
        out.i[k] = wrap(unary_int(n.op, x.i[k], from), n.dtype);
    }
  }
  static void binary_block(const ExprNode& n, const Lanes& a, const Lanes& b, Lanes& out,
                           std::size_t count) {
    const DType from = n.args[0].dtype();
    for (std::size_t k = 0; k < count; ++k) {
      if (is_comparison(n.op))
        out.i[k] = compare(n.op, a, b, k, from);
      else if (is_floating(n.dtype))
        out.f[k] = round_to(binary(n.op, a.f[k], b.f[k]), n.dtype);
      else
        out.i[k] = wrap(binary_int(n.op, a.i[k], b.i[k], from), n.dtype);
    }
  }

  const std::vector<Tensor>& inputs_;
  std::int64_t operations_ = 0;
  std::vector<Dims> strides_;
  std::vector<std::array<std::int64_t, kBlock>> offsets_;
  std::unordered_map<const ExprNode*, std::unique_ptr<Lanes>> memo_;
};

// Stores lanes of the expression's type. A small float rounds here, a cast has rounded already.
void store(const Lanes& lanes, std::size_t count, Tensor& out, std::int64_t at) {
  const std::size_t size = static_cast<std::size_t>(size_of(out.dtype()));
  const Tensor part =
      is_floating(out.dtype())
          ? from_doubles({lanes.f.data(), count}, out.dtype(), {static_cast<std::int64_t>(count)})
          : from_int64s({lanes.i.data(), count}, out.dtype(), {static_cast<std::int64_t>(count)});
  std::memcpy(out.raw() + static_cast<std::size_t>(at) * size, part.raw(), count * size);
}

}  // namespace

Tensor evaluate_scalar(const Expr& expr, const std::vector<Tensor>& inputs, const Dims& out_dims,
                       std::int64_t* operations) {
  Tensor out(expr.dtype(), out_dims);
  Evaluator evaluator(inputs, out_dims);
  std::size_t lane = 0;
  std::int64_t start = 0;
  const std::int64_t n = out.count();
  for_each_index(out.dims(), [&](const Dims& at, std::int64_t k) {
    evaluator.set_offsets(lane++, at);
    if (lane < kBlock && k + 1 < n) return;
    store(evaluator.block(expr, lane), lane, out, start);
    start = k + 1;
    lane = 0;
  });
  if (operations) *operations += evaluator.operations();
  return out;
}

}  // namespace tenon::ops
