// Names, weights, errors.
#include "tenon/models/net.h"

#include "tenon/ir/verify.h"
#include "tenon/ops/registry.h"

namespace tenon::models {

Net::Net(std::string name, std::uint64_t seed)
    : graph_(std::make_unique<Graph>(std::move(name))),
      builder_(*graph_, ops::table()),
      b_(builder_),
      seed_(seed) {}

std::string Net::full(std::string_view name) const {
  if (scope_.empty()) return std::string(name);
  return name.empty() ? scope_ : fmt::format("{}.{}", scope_, name);
}

Net::Scope::Scope(Net& net, std::string_view name) : net_(net), length_(net.scope_.size()) {
  if (name.empty()) return;
  if (!net_.scope_.empty()) net_.scope_ += '.';
  net_.scope_ += name;
  net_.builder_.set_origin(net_.scope_, {"", -1, net_.scope_});
}

Net::Scope::~Scope() {
  net_.scope_.resize(length_);
  net_.builder_.set_origin(net_.scope_, {"", -1, net_.scope_});
}

Value* Net::input(std::string name, DType dtype, const Dims& dims) {
  Shape shape = {Dim::symbol("batch")};
  for (std::size_t i = 0; i < dims.size(); ++i)
    shape.push_back(dims[i] >= 0 ? Dim(dims[i]) : Dim::symbol(fmt::format("{}_{}", name, i + 1)));
  return graph_->add_input(std::move(name), Type(dtype, std::move(shape)));
}

Value* Net::weight(std::string_view name, const Dims& dims, const Init& init) {
  const std::string n = full(name);
  Value* v = graph_->add_constant(n, initial(init, dims, seed_, n));
  v->trainable = true;
  return v;
}

Value* Net::buffer(std::string_view name, Tensor tensor) {
  return graph_->add_constant(full(name), std::move(tensor));
}

void Net::output(Value* value, std::string name) {
  if (builder_.status().ok()) graph_->add_output(value, std::move(name));
}

Result<std::unique_ptr<Graph>> Net::finish() {
  TENON_TRY(builder_.take_status());
  if (Status ok = verify(*graph_); !ok.ok())
    TENON_CHECK(false, "a model was built wrongly: {}", ok.error().text());
  return std::move(graph_);
}

}  // namespace tenon::models
