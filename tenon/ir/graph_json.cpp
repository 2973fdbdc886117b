// Writes graphs as JSON.
#include "tenon/ir/graph_json.h"

#include <unordered_map>

namespace tenon {
namespace {

Json element_json(const Tensor& t, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  if (t.dtype() == DType::string) return t.data<std::string>()[at];
  if (t.dtype() == DType::c64) {
    const auto z = t.data<std::complex<float>>()[at];
    return {json_number(z.real()), json_number(z.imag())};
  }
  if (t.dtype() == DType::c128) {
    const auto z = t.data<std::complex<double>>()[at];
    return {json_number(z.real()), json_number(z.imag())};
  }
  if (is_floating(t.dtype())) return json_number(element(t, i));
  if (t.dtype() == DType::u64) return static_cast<std::uint64_t>(integer_element(t, i));
  return integer_element(t, i);
}

Json values_json(const Tensor& t) {
  Json out = Json::array();
  for (std::int64_t i = 0; i < t.count(); ++i) out.push_back(element_json(t, i));
  return out;
}

Json attr_value(const Attr& a) {
  switch (a.kind()) {
    case Attr::Kind::boolean: return *a.get<bool>();
    case Attr::Kind::integer: return *a.get<std::int64_t>();
    case Attr::Kind::real: return json_number(*a.get<double>());
    case Attr::Kind::text: return *a.get<std::string>();
    case Attr::Kind::integers: return *a.get<Attr::Integers>();
    case Attr::Kind::reals: {
      Json out = Json::array();
      for (double v : *a.get<Attr::Reals>()) out.push_back(json_number(v));
      return out;
    }
    case Attr::Kind::texts: return *a.get<Attr::Texts>();
    case Attr::Kind::dtype: return std::string(name(*a.get<DType>()));
    case Attr::Kind::tensor: {
      const Tensor& t = *a.get<Tensor>();
      return {{"type", Type::of(t).text()}, {"values", values_json(t)}};
    }
  }
  return {};
}

class Writer {
 public:
  explicit Writer(const TextOptions& options) : options_(options) {}

  Json graph(const Graph& g) {
    Json j = {{"name", g.name()},
              {"inputs", Json::array()},
              {"constants", Json::array()},
              {"nodes", Json::array()},
              {"outputs", Json::array()}};
    for (const Value* v : g.inputs()) j["inputs"].push_back(declared(*v));
    for (const Value* v : g.constants()) j["constants"].push_back(constant(*v));
    for (const Node* n : g.nodes()) j["nodes"].push_back(node(*n));
    for (std::size_t i = 0; i < g.outputs().size(); ++i)
      j["outputs"].push_back({{"value", id(g.outputs()[i])}, {"name", g.output_names()[i]}});
    for (const Constraint& c : g.constraints())
      j["constraints"].push_back({{"left", c.left.text()},
                                  {"right", c.right.text()},
                                  {"what", c.what},
                                  {"where", c.where}});
    for (const auto& [key, value] : g.metadata()) j["metadata"][key] = value;
    return j;
  }

 private:
  // Numbered in the order of writing, so that equal graphs are written alike.
  Json id(const Value* v) {
    if (!v) return nullptr;
    return ids_.try_emplace(v, static_cast<int>(ids_.size())).first->second;
  }
  Json declared(const Value& v) {
    Json j = {{"id", id(&v)}, {"type", v.type().text()}};
    if (!v.name().empty()) j["name"] = v.name();
    return j;
  }
  Json constant(const Value& v) {
    Json j = declared(v);
    if (v.trainable) j["trainable"] = true;
    if (v.tensor().count() <= options_.max_inline || v.tensor().dtype() == DType::string)
      j["values"] = values_json(v.tensor());
    else if (options_.key)
      j["data"] = options_.key(v);
    return j;
  }
  Json node(const Node& n) {
    Json j = {{"op", n.op().name}, {"inputs", Json::array()}, {"outputs", Json::array()}};
    for (const Value* v : n.inputs()) j["inputs"].push_back(id(v));
    for (const Value* v : n.outputs()) j["outputs"].push_back(declared(*v));
    for (const auto& [key, value] : n.attrs())
      j["attrs"][key] = {{std::string(name(value.kind())), attr_value(value)}};
    if (!n.name().empty()) j["name"] = n.name();
    const Origin& o = n.origin();
    if (!o.file.empty() || o.index >= 0 || !o.scope.empty())
      j["origin"] = {{"file", o.file}, {"index", o.index}, {"scope", o.scope}};
    for (const auto& r : n.regions()) j["regions"].push_back(Writer(options_).graph(*r));
    return j;
  }

  const TextOptions& options_;
  std::unordered_map<const Value*, int> ids_;  // looked up only
};

}  // namespace

Json to_json(const Graph& graph, const TextOptions& options) {
  Json j = Writer(options).graph(graph);
  j["schema"] = kGraphSchema;
  return j;
}

}  // namespace tenon
