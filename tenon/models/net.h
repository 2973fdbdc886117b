// A model graph under construction: scoped names, weights and their first values.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tenon/models/initializers.h"
#include "tenon/ops/op_page.h"

namespace tenon::models {

/// Builds one graph. Names of weights are those of the scopes around them, joined by dots
/// ("layer1.0.conv1.weight"). Errors are the Builder's: sticky, asked for by finish().
class Net {
 public:
  Net(std::string name, std::uint64_t seed);

  /// An input with a batch of any size in front of `dims`; a dim of -1 is any size, too.
  Value* input(std::string name, DType dtype, const Dims& dims);
  /// A weight: a constant that training may change.
  Value* weight(std::string_view name, const Dims& dims, const Init& init);
  /// A constant with a name that training does not change by gradients (running statistics).
  Value* buffer(std::string_view name, Tensor tensor);
  void output(Value* value, std::string name);

  /// Everything made while it lives is named below `name`; an empty name adds nothing.
  class Scope {
   public:
    Scope(Net& net, std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Net& net_;
    std::size_t length_;
  };

  /// The operators: `net.b().relu(x)`.
  ops::B& b() { return b_; }
  Graph& graph() { return *graph_; }
  void fail(Error error) { builder_.fail(std::move(error)); }
  /// The graph, or what went wrong while it was built.
  Result<std::unique_ptr<Graph>> finish();

 private:
  std::string full(std::string_view name) const;
  std::unique_ptr<Graph> graph_;
  GraphBuilder builder_;
  ops::B b_;
  std::uint64_t seed_;
  std::string scope_;
};

}  // namespace tenon::models
