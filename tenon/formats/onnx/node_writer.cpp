// One node: attributes, regions, and the table of pages.
#include <algorithm>

#include "tenon/formats/onnx/proto.h"
#include "tenon/formats/onnx/writer_internal.h"

namespace tenon::onnx {

const Attr* NodeWriter::attr(std::string_view name) const {
  if (const Attr* a = node_.attrs().find(name)) return a;
  const AttrSpec* spec = node_.op().attr(name);
  return spec && !spec->fallback.empty() ? &spec->fallback.front() : nullptr;
}

std::string NodeWriter::input(int i) const {
  return node_.input(i) ? model_.name_of(node_.input(i)) : std::string();
}

std::string NodeWriter::output(int i) const {
  if (i >= static_cast<int>(node_.outputs().size())) return {};
  return model_.name_of(node_.outputs()[static_cast<std::size_t>(i)]);
}

std::vector<std::string> NodeWriter::inputs() const {
  std::vector<std::string> names;
  for (int i = 0; i < static_cast<int>(node_.inputs().size()); ++i) names.push_back(input(i));
  return names;
}

// Results that nobody uses are left out at the end, so that operators with optional outputs stay
// small.
std::vector<std::string> NodeWriter::outputs() const {
  const auto& graph_outputs = node_.graph()->outputs();
  const auto is_used = [&](const Value* v) {
    return !v->uses().empty() ||
           std::find(graph_outputs.begin(), graph_outputs.end(), v) != graph_outputs.end();
  };
  std::vector<std::string> names;
  for (const Value* v : node_.outputs()) names.push_back(model_.name_of(v));
  while (names.size() > 1 && !is_used(node_.outputs()[names.size() - 1])) names.pop_back();
  return names;
}

void NodeWriter::emit(std::string_view op_type, const std::vector<std::string>& in,
                      const std::vector<std::string>& out,
                      const std::vector<WireWriter>& attributes, std::string_view domain) {
  WireWriter n;
  std::size_t used = in.size();
  while (used > 0 && in[used - 1].empty()) --used;
  for (std::size_t i = 0; i < used; ++i) n.text(1, in[i]);
  for (const auto& name : out) n.text(2, name);
  if (!node_.name().empty()) n.text(3, model_.fresh_node_name(node_.name()));
  n.text(4, op_type);
  for (const auto& a : attributes) n.message(5, a);
  if (!domain.empty()) n.text(7, domain);
  graph_.message(1, n);
}

std::string NodeWriter::constant(const Tensor& t, std::string_view stem) {
  std::string name = temporary(stem);
  emit("Constant", {}, {name}, {attribute("value", Attr(t))});
  return name;
}

WireWriter NodeWriter::attribute(std::string_view name, const Attr& value) {
  WireWriter w;
  w.text(1, name);
  const auto typed = [&](AttributeType t) { w.integer(20, static_cast<int>(t)); };
  switch (value.kind()) {
    case Attr::Kind::boolean:
      w.integer(3, *value.get<bool>());
      typed(AttributeType::integer);
      break;
    case Attr::Kind::integer:
      w.integer(3, *value.get<std::int64_t>());
      typed(AttributeType::integer);
      break;
    case Attr::Kind::real:
      w.real(2, static_cast<float>(*value.get<double>()));
      typed(AttributeType::real);
      break;
    case Attr::Kind::text:
      w.text(4, *value.get<std::string>());
      typed(AttributeType::text);
      break;
    case Attr::Kind::integers:
      w.integers(8, *value.get<Attr::Integers>());
      typed(AttributeType::integers);
      break;
    case Attr::Kind::reals:
      w.reals(7, *value.get<Attr::Reals>());
      typed(AttributeType::reals);
      break;
    case Attr::Kind::texts:
      for (const auto& s : *value.get<Attr::Texts>()) w.text(9, s);
      typed(AttributeType::texts);
      break;
    case Attr::Kind::dtype:
      w.integer(3, onnx_dtype(*value.get<DType>()));
      typed(AttributeType::integer);
      break;
    case Attr::Kind::tensor:
      w.message(5, tensor_proto(*value.get<Tensor>(), {}));
      typed(AttributeType::tensor);
      break;
  }
  return w;
}

namespace {

bool is_empty_list(const Attr& a) {
  if (const auto* v = a.get<Attr::Integers>()) return v->empty();
  if (const auto* v = a.get<Attr::Reals>()) return v->empty();
  if (const auto* v = a.get<Attr::Texts>()) return v->empty();
  return false;
}

}  // namespace

void NodeWriter::translate(const WriteRow& row) {
  std::vector<WireWriter> attributes;
  for (const AttrSpec& spec : node_.op().attrs) {
    const Attr* a = attr(spec.name);
    if (!a || is_empty_list(*a)) continue;
    const auto renamed = std::find_if(row.renames.begin(), row.renames.end(),
                                      [&](const auto& r) { return r.first == spec.name; });
    const std::string_view name =
        renamed == row.renames.end() ? std::string_view(spec.name) : renamed->second;
    if (!name.empty()) attributes.push_back(attribute(name, *a));
  }
  emit(row.op_type, inputs(), outputs(), attributes, row.domain);
}

// Captures read the names of the values around; ONNX finds them by scope.
WireWriter NodeWriter::region(int index, int own, int first_capture) {
  const Graph& g = *node_.regions()[static_cast<std::size_t>(index)];
  for (std::size_t i = static_cast<std::size_t>(own); i < g.inputs().size(); ++i)
    model_.name_of(g.inputs()[i]) = input(first_capture + static_cast<int>(i) - own);
  WireWriter body = model_.graph(g, true);
  for (int i = 0; i < own; ++i) {
    const Value* v = g.inputs()[static_cast<std::size_t>(i)];
    body.message(11, WireWriter().text(1, model_.name_of(v)).message(2, type_proto(v->type())));
  }
  std::set<std::string> given;
  for (const Value* v : g.outputs()) {
    // Outputs of a subgraph must be its own, each named once.
    std::string name = model_.name_of(v);
    if (v->kind() != Value::Kind::result || !given.insert(name).second) {
      const std::string copy = model_.fresh_name(name + "_out");
      body.message(1, WireWriter().text(1, name).text(2, copy).text(4, "Identity"));
      name = copy;
    }
    body.message(12, WireWriter().text(1, name).message(2, type_proto(v->type())));
  }
  return body;
}

}  // namespace tenon::onnx
