// A view of one application of an operator, for the facets of its page.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/ir/graph.h"

namespace tenon {

/// One call: types, attributes and what is known of input values. Facets see nothing else, so the
/// same rule serves a graph under construction, a finished graph and a run with concrete sizes.
class Call {
 public:
  /// The call that `node` is. With `constraints`, undecided conditions are recorded there.
  explicit Call(const Node& node, std::vector<Constraint>* constraints = nullptr)
      : node_(node), constraints_(constraints) {}
  /// The same call on concrete runtime values: in(), constant() and dims() speak of `inputs`.
  Call(const Node& node, const Datums& inputs);

  const Node& node() const { return node_; }
  const Operator& op() const { return node_.op(); }
  int num_inputs() const { return static_cast<int>(node_.inputs().size()); }
  bool has(int i) const { return node_.input(i) != nullptr; }
  /// Type of input i; a check fails when it is absent.
  const Type& in(int i) const;
  int num_outputs() const { return static_cast<int>(node_.outputs().size()); }
  /// Type of output i (after inference).
  const Type& out(int i) const { return node_.output(i)->type(); }

  // Handles, for gradient and decompose.
  Value* value(int i) const { return node_.input(i); }
  Value* result(int i) const { return node_.output(i); }
  Values values() const { return node_.inputs(); }
  const Graph& region(int i) const { return *node_.regions()[static_cast<std::size_t>(i)]; }
  int num_regions() const { return static_cast<int>(node_.regions().size()); }

  // Attributes, with the page's defaults. A check fails when the page does not declare the name.
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  bool flag(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  DType dtype(std::string_view name) const;
  const std::vector<std::int64_t>& integers(std::string_view name) const;
  const std::vector<double>& reals(std::string_view name) const;
  const std::vector<std::string>& texts(std::string_view name) const;
  const Tensor& tensor(std::string_view name) const;
  /// Whether the attribute is set on the node (a default does not count).
  bool has_attr(std::string_view name) const { return node_.attrs().find(name) != nullptr; }

  /// The value of an input, where it is known.
  std::optional<Tensor> constant(int i) const;
  /// Integer elements of an input (0-d or 1-d), as far as known; symbols where sizes are symbolic.
  std::optional<std::vector<Dim>> dims(int i) const;
  /// Integer elements that are all known.
  std::optional<std::vector<std::int64_t>> known_integers(int i) const;

  /// An axis attribute or value brought into [0, ndim), or invalid.
  Result<int> axis(std::int64_t axis, int ndim) const;
  /// A dim that only the data tells: unique for this node and stem, the same at every inference.
  Dim fresh_dim(std::string_view stem) const;

  Dim bytes_in() const;
  Dim bytes_out() const;

  /// Records a condition that inference could not decide.
  void assume(const Dim& left, const Dim& right, std::string_view what) const;

 private:
  const Attr& attr(std::string_view name) const;
  const Node& node_;
  std::vector<Constraint>* constraints_ = nullptr;
  const Datums* data_ = nullptr;
  std::vector<Type> types_;  // of data_
};

/// Fails inference unless `condition`; the message is the condition's text and the given types.
#define TENON_EXPECT(condition, what, ...)                                     \
  do {                                                                         \
    if (!(condition)) return ::tenon::expectation_failed(what, {__VA_ARGS__}); \
  } while (false)

/// Fails inference when two dims certainly differ; records a constraint when that is undecided.
/// `c` must be the Call in scope.
#define TENON_EXPECT_SAME(left, right, what)                                           \
  do {                                                                                 \
    const ::tenon::Dim left_ = (left), right_ = (right);                               \
    const ::tenon::Truth same_ = ::tenon::same(left_, right_);                         \
    if (same_ == ::tenon::Truth::no) return ::tenon::dims_differ(what, left_, right_); \
    if (same_ == ::tenon::Truth::undecided) c.assume(left_, right_, what);             \
  } while (false)

Error expectation_failed(std::string_view what, std::initializer_list<Type> types);
/// "x.last is 768 but w.rows is 1024" from "x.last == w.rows".
Error dims_differ(std::string_view what, const Dim& left, const Dim& right);

}  // namespace tenon
