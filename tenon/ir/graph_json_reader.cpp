// Reads graphs from JSON.
#include <unordered_map>

#include "tenon/ir/builder.h"
#include "tenon/ir/graph_json.h"
#include "tenon/ir/verify.h"

namespace tenon {
namespace {

constexpr int kMaxDepth = 100;  // regions inside regions

// ---- elements and attributes ------------------------------------------------------------------

Result<double> real_of(const Json& j) { return number_of(j); }

Result<std::complex<double>> complex_of(const Json& j) {
  if (!j.is_array() || j.size() != 2) return invalid("a complex number is a pair of numbers");
  return std::complex<double>(TENON_TRY(real_of(j[0])), TENON_TRY(real_of(j[1])));
}

Result<std::int64_t> integer_of(const Json& j, DType dtype) {
  if (dtype == DType::u64 && j.is_number_unsigned())
    return static_cast<std::int64_t>(j.get<std::uint64_t>());
  if (dtype == DType::boolean && j.is_boolean()) return std::int64_t{j.get<bool>()};
  return json_as<std::int64_t>(j, "values");
}

template <class T, class F>
Result<std::vector<T>> each(const Json& values, F&& read) {
  std::vector<T> out;
  for (const Json& j : values) out.push_back(TENON_TRY(read(j)));
  return out;
}

Result<Tensor> tensor_of(const Type& t, const Json& values) {
  auto dims = constant_dims(t.shape());
  if (!t.is_tensor() || !t.ranked() || !dims)
    return invalid("a constant needs a type with sizes, not {}", t.text());
  const std::int64_t n = TENON_TRY(checked_num_elements(*dims));
  if (!values.is_array() || static_cast<std::int64_t>(values.size()) != n)
    return invalid("{} elements are given but {} holds {}", values.size(), t.text(), n);
  const DType d = t.dtype();
  if (d == DType::string)
    return Tensor::of<std::string>(*dims,
                                   TENON_TRY(json_as<std::vector<std::string>>(values, "values")));
  if (is_complex(d))
    return from_complexes(TENON_TRY(each<std::complex<double>>(values, complex_of)), d, *dims);
  if (is_floating(d)) return from_doubles(TENON_TRY(each<double>(values, real_of)), d, *dims);
  const auto integer = [&](const Json& j) { return integer_of(j, d); };
  return from_int64s(TENON_TRY(each<std::int64_t>(values, integer)), d, *dims);
}

Result<Type> type_of(const Json& j) {
  return Type::parse(TENON_TRY(json_get<std::string>(j, "type")));
}

Result<Attr> attr_of(const Json& j) {
  if (!j.is_object() || j.size() != 1)
    return invalid("an attribute is an object of one key, its kind");
  const std::string& kind = j.begin().key();
  const Json& v = j.begin().value();
  if (kind == name(Attr::Kind::boolean)) return Attr(TENON_TRY(json_as<bool>(v, kind)));
  if (kind == name(Attr::Kind::integer)) return Attr(TENON_TRY(json_as<std::int64_t>(v, kind)));
  if (kind == name(Attr::Kind::real)) return Attr(TENON_TRY(real_of(v)));
  if (kind == name(Attr::Kind::text)) return Attr(TENON_TRY(json_as<std::string>(v, kind)));
  if (kind == name(Attr::Kind::integers)) return Attr(TENON_TRY(json_as<Attr::Integers>(v, kind)));
  if (kind == name(Attr::Kind::reals)) {
    if (!v.is_array()) return invalid("reals are a list");
    return Attr(TENON_TRY(each<double>(v, real_of)));
  }
  if (kind == name(Attr::Kind::texts)) return Attr(TENON_TRY(json_as<Attr::Texts>(v, kind)));
  if (kind == name(Attr::Kind::dtype)) {
    const std::string text = TENON_TRY(json_as<std::string>(v, kind));
    if (auto d = dtype_named(text)) return Attr(*d);
    return invalid("no element type is named '{}'", text);
  }
  if (kind != name(Attr::Kind::tensor)) return invalid("no attribute is of kind '{}'", kind);
  const Type t = TENON_TRY(type_of(v));
  return Attr(TENON_TRY(tensor_of(t, v.value("values", Json::array()))));
}

// ---- graphs -----------------------------------------------------------------------------------

class Reader {
 public:
  Reader(const OperatorTable& table, const TensorSource& source, int depth)
      : table_(table), source_(source), depth_(depth) {}

  Result<std::unique_ptr<Graph>> graph(const Json& j) {
    if (depth_ > kMaxDepth) return invalid("regions are nested deeper than {}", kMaxDepth);
    graph_ = std::make_unique<Graph>(TENON_TRY(json_get_or<std::string>(j, "name", "")));
    TENON_TRY(list(j, "inputs", [&](const Json& v) { return input(v); }));
    TENON_TRY(list(j, "constants", [&](const Json& v) { return constant(v); }));
    TENON_TRY(list(j, "nodes", [&](const Json& v) { return node(v); }));
    TENON_TRY(list(j, "outputs", [&](const Json& v) { return output(v); }));
    if (auto it = j.find("metadata"); it != j.end()) {
      if (!it->is_object()) return invalid("metadata is an object");
      for (const auto& [key, value] : it->items())
        graph_->metadata()[key] = TENON_TRY(json_as<std::string>(value, key));
    }
    return std::move(graph_);
  }

 private:
  // Calls f on every item of a list that may be absent; errors get "key[i]" in front.
  template <class F>
  static Status list(const Json& object, const char* key, F&& f) {
    if (!object.is_object()) return invalid("a graph is an object, not {}", json_kind(object));
    const auto it = object.find(key);
    if (it == object.end()) return {};
    if (!it->is_array()) return invalid("{} is a list, not {}", key, json_kind(*it));
    for (std::size_t i = 0; i < it->size(); ++i)
      if (Status s = f((*it)[i]); !s.ok()) {
        Error e = std::move(s).error();
        const bool nested = !e.where.empty() && e.where.find('[') != std::string::npos;
        e.where = fmt::format("{}[{}]{}{}", key, i,
                              nested            ? "."
                              : e.where.empty() ? ""
                                                : ", ",
                              e.where);
        return e;
      }
    return {};
  }
  Status define(const Json& j, Value* v) {
    const auto id = TENON_TRY(json_get<std::int64_t>(j, "id"));
    if (!values_.emplace(id, v).second) return invalid("value {} is defined twice", id);
    v->set_name(TENON_TRY(json_get_or<std::string>(j, "name", "")));
    return {};
  }
  Result<Value*> value(const Json& j) const {
    if (j.is_null()) return static_cast<Value*>(nullptr);
    const auto id = TENON_TRY(json_as<std::int64_t>(j, "a value's id"));
    const auto it = values_.find(id);
    if (it == values_.end()) return invalid("value {} is read before it is made", id);
    return it->second;
  }
  Status input(const Json& j) { return define(j, graph_->add_input("", TENON_TRY(type_of(j)))); }
  Status constant(const Json& j) {
    const Type type = TENON_TRY(type_of(j));
    Tensor t;
    if (auto it = j.find("values"); it != j.end()) {
      t = TENON_TRY(tensor_of(type, *it));
    } else if (j.contains("data")) {
      const auto key = TENON_TRY(json_get<std::string>(j, "data"));
      if (!source_) return not_found("the data of this constant lies elsewhere, under '{}'", key);
      t = TENON_TRY(source_(key));
      if (!(Type::of(t) == type))
        return invalid("the constant is {} but its data is {}", type.text(), Type::of(t).text());
    } else {
      return invalid("this constant was written without its elements");
    }
    Value* v = graph_->add_constant("", std::move(t));
    v->trainable = TENON_TRY(json_get_or<bool>(j, "trainable", false));
    return define(j, v);
  }
  Status node(const Json& j) {
    const auto op_name = TENON_TRY(json_get<std::string>(j, "op"));
    const Operator* op = table_.find(op_name);
    if (!op) return unsupported("no operator is named '{}'", op_name);
    Values inputs;
    TENON_TRY(list(j, "inputs", [&](const Json& v) -> Status {
      inputs.push_back(TENON_TRY(value(v)));
      return {};
    }));
    Attrs attrs;
    if (auto it = j.find("attrs"); it != j.end()) {
      if (!it->is_object()) return invalid("attrs is an object, not {}", json_kind(*it));
      for (const auto& [key, a] : it->items()) attrs.set(key, TENON_TRY_AT(key, attr_of(a)));
    }
    std::vector<std::unique_ptr<Graph>> regions;
    TENON_TRY(list(j, "regions", [&](const Json& r) -> Status {
      regions.push_back(TENON_TRY(Reader(table_, source_, depth_ + 1).graph(r)));
      return {};
    }));
    const Json outputs = j.value("outputs", Json::array());
    if (!outputs.is_array()) return invalid("outputs is a list, not {}", json_kind(outputs));
    Node* n = graph_->add_node(*op, std::move(inputs), std::move(attrs), std::move(regions),
                               static_cast<int>(outputs.size()));
    return results(j, outputs, *n);
  }
  // Types are inferred again: pages trust them, so they are never taken from a file.
  Status results(const Json& j, const Json& outputs, Node& n) {
    n.set_name(TENON_TRY(json_get_or<std::string>(j, "name", "")));
    if (auto it = j.find("origin"); it != j.end())
      n.set_origin({TENON_TRY(json_get_or<std::string>(*it, "file", "")),
                    TENON_TRY(json_get_or<int>(*it, "index", -1)),
                    TENON_TRY(json_get_or<std::string>(*it, "scope", ""))});
    const Types types = TENON_TRY_AT(n.place(), infer(n, &graph_->constraints()));
    if (types.size() < outputs.size())
      return invalid("{} gives {} results, not {}", n.op().name, types.size(), outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Value* v = n.output(static_cast<int>(i));
      v->set_type(types[i]);
      TENON_TRY(define(outputs[i], v));
    }
    if (outputs.size() == 1) n.output(0)->set_contents(infer_contents(n));
    return {};
  }
  Status output(const Json& j) {
    if (!j.is_object() || !j.contains("value")) return invalid("key 'value' is missing");
    Value* v = TENON_TRY(value(j["value"]));
    if (!v) return invalid("a graph cannot return an absent value");
    graph_->add_output(v, TENON_TRY(json_get_or<std::string>(j, "name", "")));
    return {};
  }

  const OperatorTable& table_;
  const TensorSource& source_;
  int depth_;
  std::unique_ptr<Graph> graph_;
  std::unordered_map<std::int64_t, Value*> values_;  // looked up only
};

}  // namespace

Result<std::unique_ptr<Graph>> graph_from_json(const Json& json, const OperatorTable& table,
                                               const TensorSource& source) {
  const auto schema = TENON_TRY(json_get<std::string>(json, "schema"));
  if (schema != kGraphSchema)
    return unsupported("this is {}, not {}", schema, kGraphSchema)
        .with_help("write the graph again with this version of tenon export");
  auto graph = TENON_TRY(Reader(table, source, 0).graph(json));
  TENON_TRY(verify(*graph));
  return graph;
}

}  // namespace tenon
