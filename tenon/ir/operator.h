// The abstract operator: everything the system knows of one kind of node, as facets of one record.
// The pages in ops/ fill it; the rest of the system asks facets and traits, never names.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/tensor.h"
#include "tenon/ir/call.h"
#include "tenon/ir/expr.h"
#include "tenon/ir/graph.h"

namespace tenon {

class Builder;

/// Properties that passes and planners ask for.
enum class Trait : std::uint8_t {
  elementwise,  // follows from the scalar facet; inputs broadcast
  commutative,  // op(a, b) == op(b, a)
  associative,
  reduction,       // folds whole axes
  contraction,     // multiplies and sums: matrix products, convolutions
  movement,        // every output element is a copy of some input element
  view,            // a movement that keeps the row-major order of elements
  random,          // depends on its counter-based key, never folded across keys
  collective,      // talks to peers
  control_flow,    // has regions
  data_dependent,  // the output's shape depends on element values
  sequence,        // takes or gives sequences or optionals
  text,            // works on strings
};

/// Why a facet is absent.
struct None {
  std::string_view reason;
};
constexpr None none(std::string_view reason) { return {reason}; }

/// A facet: a function, or the written reason why there is none.
template <class Signature>
class Facet {
 public:
  Facet() = default;
  Facet(None n) : reason_(n.reason) {}  // NOLINT: implicit
  template <class F>
    requires(std::is_constructible_v<std::function<Signature>, F> &&
             !std::is_same_v<std::remove_cvref_t<F>, Facet> &&
             !std::is_same_v<std::remove_cvref_t<F>, None>)
  Facet(F f) : function_(std::move(f)) {}  // NOLINT: implicit
  explicit operator bool() const { return static_cast<bool>(function_); }
  bool has_reason() const { return !reason_.empty(); }
  std::string_view reason() const { return reason_; }
  template <class... Args>
  decltype(auto) operator()(Args&&... args) const {
    TENON_CHECK(function_ != nullptr, "facet is absent: {}", reason_);
    return function_(std::forward<Args>(args)...);
  }

 private:
  std::function<Signature> function_;
  std::string_view reason_;
};

enum class Arity : std::uint8_t {
  one,
  maybe,
  many
};  // required, may be absent, any number (last only)
enum class Holds : std::uint8_t { tensor, sequence, optional, anything };

/// Declares an input. Inputs with the same type variable `var` have the same element type; an empty
/// variable is free.
struct InputSpec {
  std::string_view name;
  TypeSet types = kAny;
  std::string_view var = "T";
  Arity arity = Arity::one;
  Holds holds = Holds::tensor;
};
inline InputSpec maybe(std::string_view name, TypeSet types = kAny, std::string_view var = "T") {
  return {name, types, var, Arity::maybe, Holds::tensor};
}
inline InputSpec many(std::string_view name, TypeSet types = kAny, std::string_view var = "T") {
  return {name, types, var, Arity::many, Holds::tensor};
}

/// Work of one call. flops counts additions, multiplications, comparisons and function calls alike.
struct Cost {
  Dim flops, bytes_read, bytes_written;
};

/// How the axes of inputs and outputs hang together, in the manner of an einsum: every axis carries
/// a factor's name, or "" when it must stay whole. A factor in inputs but in no output is reduced.
struct Factors {
  std::vector<std::vector<std::string>> inputs, outputs;  // [tensor][axis]
  std::vector<std::string> whole_factors;                 // never split, though named
  std::map<std::string, std::string> reductions;          // factor -> "sum", "max", "min", "prod"
};

/// "... k, k n, n -> ... n": the text of a sharding rule, resolved against the ranks of a call.
/// `...` covers leading axes aligned at the right (broadcasting); `_` is an axis that stays whole.
class FactorRule {
 public:
  explicit FactorRule(std::string text) : text_(std::move(text)) {}
  FactorRule whole(std::string_view names) &&;                         // "k m"
  FactorRule reduced(std::string_view name, std::string_view how) &&;  // default is "sum"
  /// The factors for this call's ranks; axes of size 1 that broadcast stay whole.
  Result<Factors> resolve(const Call& call) const;
  Result<Factors> operator()(const Call& call) const { return resolve(call); }

 private:
  std::string text_;
  std::vector<std::string> whole_;
  std::map<std::string, std::string> reductions_;
};
inline FactorRule factors(std::string text) { return FactorRule(std::move(text)); }

/// Runs a region on runtime values: handed to the evaluation of control flow.
using RegionRunner = std::function<Result<Datums>(const Graph& region, Datums inputs)>;

/// What `eval` gets: the call with runtime values for every input.
struct EvalCall {
  const Call& call;
  const Datums& inputs;  // absent inputs are absent datums
  const RegionRunner& run_region;
  bool has(int i) const {
    return i < static_cast<int>(inputs.size()) && !inputs[static_cast<std::size_t>(i)].is_absent();
  }
  const Tensor& in(int i) const { return inputs[static_cast<std::size_t>(i)].tensor(); }
  const Datum& datum(int i) const { return inputs[static_cast<std::size_t>(i)]; }
};

/// One input of a sample.
struct SampleInput {
  Dims dims;
  DType dtype = DType::f32;
  bool absent = false;
  double low = -1, high = 1;  // range of invented values (integers: [low, high])
  bool distinct = false;      // all values differ by a margin (kinks and ties stay away)
  bool constant = false;      // known when types are inferred
  Tensor values;              // given values, when defined
  std::vector<Tensor> items;  // of a sequence
  bool is_sequence = false;
  bool is_optional = false;  // the type is optional(...) of what is given
};

/// A call that tests run on every facet. Built with sample({{2, 3}, {3}}) and refined by chaining.
struct Sample {
  std::vector<SampleInput> inputs;
  Attrs attrs;
  int num_outputs = -1;             // -1: as inferred
  std::string rejected_because;     // not empty: inference must fail with this text
  std::string no_gradient_because;  // not empty: the gradient is not checked here
  double tolerance = 0;             // relative, 0: the suite's own

  Sample with(Attrs a) &&;
  Sample dtypes(std::vector<DType> types) &&;
  /// Every input takes this type.
  Sample all(DType type) &&;
  Sample range(double low, double high) &&;
  Sample range_of(int input, double low, double high) &&;
  /// Input `input` holds integers in [0, size), of i64 unless its type was set to another integer.
  Sample indices(int input, std::int64_t size) &&;
  /// Input `input` holds exactly these values and is known at inference (a shape, an axis list).
  Sample known(int input, Tensor values) &&;
  /// The same, but not known at inference.
  Sample given(int input, Tensor values) &&;
  Sample absent(int input) &&;
  /// Input `input` is a sequence of these tensors.
  Sample sequence(int input, std::vector<Tensor> items) &&;
  /// The type of input `input` is an optional of what it holds.
  Sample optional(int input) &&;
  Sample distinct() &&;
  Sample outputs(int n) &&;
  Sample without_gradient(std::string why) &&;
  Sample within(double relative) &&;
};
Sample sample(std::vector<Dims> dims);
/// A call that inference must refuse with a message containing `fragment`.
Sample rejects(std::vector<Dims> dims, std::string fragment);

/// The page of one operator. A composed operator has `decompose`; a core one has `scalar` or
/// `eval`. Facets that are absent say why.
struct Operator {
  std::string_view name;
  std::string_view doc;
  std::vector<InputSpec> inputs;
  std::vector<std::string_view> outputs = {"y"};
  std::vector<AttrSpec> attrs;
  std::vector<Trait> traits;

  /// Output types. Also says how many outputs there are.
  Facet<Result<Types>(const Call&)> infer;
  /// One element of the only output from one element of each input (elementwise operators). A page
  /// may have `eval` beside it: for strings and complex numbers, which expressions do not compute.
  Facet<Expr(const Call&, const Exprs&)> scalar;
  /// Outputs by plain loops.
  Facet<Result<Datums>(const EvalCall&)> eval;
  /// Outputs through other operators.
  Facet<Values(Builder&, const Call&)> decompose;
  /// Gradients of the inputs (nullptr: zero or not differentiable) from those of the outputs (a dy
  /// may be nullptr). c.value(i) are the inputs, c.result(i) the outputs of the forward call.
  Facet<Values(Builder&, const Call&, const Values& dys)> gradient;
  Facet<Cost(const Call&)> cost;
  Facet<Result<Factors>(const Call&)> sharding;
  /// Symbolic elements of output 0, when it is a small integer tensor. Movements and scalar
  /// operators need none: it follows from their meaning.
  Facet<std::optional<std::vector<Dim>>(const Call&)> contents;
  std::vector<Sample> samples;

  bool has(Trait trait) const;
  bool is_core() const { return !decompose; }
  const AttrSpec* attr(std::string_view name) const;
};

/// Finds operators by name; ops/ implements it.
class OperatorTable {
 public:
  virtual ~OperatorTable() = default;
  virtual const Operator* find(std::string_view name) const = 0;
};

}  // namespace tenon
