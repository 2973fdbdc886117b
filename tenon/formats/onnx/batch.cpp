// Batch sizes that an exporter baked in: finding them, and making them symbolic again.
#include <algorithm>

#include "tenon/formats/onnx/importer_internal.h"
#include "tenon/formats/onnx/names_internal.h"

namespace tenon::onnx {
namespace {

// Data inputs with a batch in front have at least two axes.
bool may_have_batch(const Type& t) { return t.is_tensor() && t.ranked() && t.ndim() >= 2; }

bool mentions(const Dim& d, const Dim& symbol) {
  const auto names = d.symbols(), wanted = symbol.symbols();
  return !wanted.empty() && std::find(names.begin(), names.end(), wanted[0]) != names.end();
}

}  // namespace

// The batch is the leading size of the first such input; others share it when theirs is the same.
Type Importer::with_free_batch(std::string_view name, Type type) {
  if (!may_have_batch(type)) return type;
  const Dim first = type.dim(0);
  if (!batch_) batch_ = Batch{.declared = first, .size = first.known().value_or(0)};
  if (first != batch_->declared) return type;
  batch_->inputs.emplace_back(name);
  if (!options_.free_batch || !first.is_constant()) return type;
  return type.with_dim(0, Dim::symbol("batch"));
}

Dim Importer::batch_symbol() const {
  if (!batch_ || (!options_.free_batch && batch_->declared.is_constant())) return Dim(0);
  return batch_->declared.is_constant() ? Dim::symbol("batch") : batch_->declared;
}

// A constant shape [b, ...] for data whose elements are batch * k: with every size given, b becomes
// -1; with a -1 elsewhere, b becomes the data's own leading size where that is the batch.
Value* Importer::freed_reshape(Context& c, Value* x, Value* shape) {
  const auto wanted = c.known_integers(shape);
  if (!batch_ || !wanted || wanted->size() < 2 || (*wanted)[0] < 1 || !x->type().ranked() ||
      x->type().ndim() < 1)
    return shape;
  if (batch_->declared.is_constant() && !options_.free_batch) {
    if ((*wanted)[0] == batch_->size && x->type().dim(0) == batch_->declared)
      batch_->places.push_back(c.place());
    return shape;
  }
  const Dim batch = batch_symbol();
  if (!mentions(x->type().count(), batch)) return shape;
  batch_->places.push_back(c.place());
  if (!options_.free_batch) return shape;
  std::vector<std::int64_t> freed = *wanted;
  const bool is_complete = std::find(freed.begin(), freed.end(), -1) == freed.end();
  if (is_complete)
    freed[0] = -1;
  else if (x->type().dim(0) == batch)
    freed[0] = 0;
  else
    return shape;
  return c.ints(std::move(freed));
}

// A constant shape [b, ...] to expand to or to fill: b becomes the size of the graph's own batch.
Value* Importer::freed_target(Context& c, Value* shape) {
  const auto wanted = c.known_integers(shape);
  if (!batch_ || !batch_->declared.is_constant() || !wanted || wanted->size() < 2 ||
      (*wanted)[0] != batch_->size)
    return shape;
  batch_->places.push_back(c.place());
  if (!options_.free_batch || batch_->inputs.empty()) return shape;
  Value* source = c.scope().find(batch_->inputs.front());
  if (!source) return shape;  // inside of a function, where the graph's inputs have no names
  return c.concat({c.size_of_axis(source, 0),
                   c.ints(std::vector<std::int64_t>(wanted->begin() + 1, wanted->end()))},
                  0);
}

// With a symbolic batch, constraints that pin it to a number tell of constants left in the model.
void Importer::report_baked_batch(Imported& out) {
  if (!batch_ || batch_->inputs.empty()) return;
  if (batch_->declared.is_constant() || !batch_->places.empty())
    out.baked_batch = BakedBatch{batch_->size, batch_->inputs, batch_->places, options_.free_batch};
  const Dim batch = batch_symbol();
  for (const Constraint& k : out.graph->constraints()) {
    if (!mentions(k.left, batch) && !mentions(k.right, batch)) continue;
    if (k.left.is_constant() || k.right.is_constant())
      warn(fmt::format("the batch is fixed by {}: {} must be {} [{}]", k.what, k.left.text(),
                       k.right.text(), k.where));
  }
}

}  // namespace tenon::onnx
