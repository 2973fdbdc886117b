// Attributes and small builder calls for conversions.
#include <algorithm>

#include "tenon/formats/onnx/context_internal.h"
#include "tenon/formats/onnx/importer_internal.h"

namespace tenon::onnx {

Value* Scope::find(std::string_view name) {
  if (auto it = values.find(name); it != values.end()) return it->second;
  if (!outer) return nullptr;
  Value* found = outer->find(name);
  if (!found) return nullptr;
  Value* mine = &outer->graph == &graph ? found : capture(found);
  values.emplace(name, mine);
  return mine;
}

bool Scope::is_absent(std::string_view name) const {
  const auto it = values.find(name);
  if (it != values.end()) return it->second == nullptr;
  return outer && outer->is_absent(name);
}

Value* Scope::capture(Value* value) {
  if (value->is_constant())
    return graph.add_constant(value->name(), value->tensor());  // shares storage
  for (std::size_t i = 0; i < captured.size(); ++i)
    if (captured[i] == value) return graph.inputs()[graph.inputs().size() - captured.size() + i];
  captured.push_back(value);
  Value* input = graph.add_input(value->name(), value->type());
  if (value->contents()) input->set_contents(*value->contents());
  return input;
}

Context::Context(Importer& importer, Scope& scope, const Frame* frame, const NodeProto& node,
                 const Row& row, int version, Values inputs)
    : importer_(importer),
      scope_(scope),
      frame_(frame),
      node_(node),
      row_(row),
      version_(version),
      inputs_(std::move(inputs)) {}

std::string Context::place() const { return importer_.place_of_node(node_, frame_); }

const AttributeProto* Context::attr(std::string_view name) {
  mark_read(name);
  return importer_.resolve(node_, name, frame_);
}

const AttributeProto* Context::typed(std::string_view name, AttributeType type) {
  const AttributeProto* a = attr(name);
  if (!a || a->type == type) return a;
  // A list of one may stand for a number and the other way round in early files only by mistake.
  fail(invalid("attribute {} is {} but must be {}", name, onnx::name(a->type), onnx::name(type)));
  return nullptr;
}

template <class T>
T Context::take(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  fail(std::move(result).error());
  return T{};
}

std::int64_t Context::integer(std::string_view name, std::int64_t fallback) {
  const AttributeProto* a = typed(name, AttributeType::integer);
  if (!a) return fallback;
  const auto v = take(integers_of(*a));
  return v.empty() ? 0 : v.back();  // a zero may be left out on the wire
}

double Context::real(std::string_view name, double fallback) {
  const AttributeProto* a = typed(name, AttributeType::real);
  if (!a) return fallback;
  const auto v = take(reals_of(*a));
  return v.empty() ? 0 : v.back();
}

std::string Context::text(std::string_view name, std::string fallback) {
  const AttributeProto* a = typed(name, AttributeType::text);
  if (!a) return fallback;
  auto v = take(texts_of(*a));
  return v.empty() ? std::string() : std::move(v.back());
}

std::vector<std::int64_t> Context::integers(std::string_view name,
                                            std::vector<std::int64_t> fallback) {
  const AttributeProto* a = typed(name, AttributeType::integers);
  return a ? take(integers_of(*a)) : fallback;
}

std::vector<double> Context::reals(std::string_view name, std::vector<double> fallback) {
  const AttributeProto* a = typed(name, AttributeType::reals);
  return a ? take(reals_of(*a)) : fallback;
}

std::vector<std::string> Context::texts(std::string_view name, std::vector<std::string> fallback) {
  const AttributeProto* a = typed(name, AttributeType::texts);
  return a ? take(texts_of(*a)) : fallback;
}

DType Context::element_type(std::string_view name, DType fallback) {
  if (!has_attr(name)) return fallback;
  const std::int64_t number = integer(name, 0);
  const auto dtype = dtype_of_onnx(number);
  if (!dtype) fail(invalid("attribute {} is the unknown element type {}", name, number));
  return dtype.value_or(fallback);
}

Tensor Context::tensor(std::string_view name) {
  const AttributeProto* a = typed(name, AttributeType::tensor);
  if (!a) return {};
  const auto all = take(tensors_of(*a));
  if (all.empty()) {
    fail(invalid("attribute {} holds no tensor", name));
    return {};
  }
  return take(read_tensor(all.back(), importer_.files()));
}

Tensor Context::sparse_tensor(std::string_view name) {
  const AttributeProto* a = typed(name, AttributeType::sparse_tensor);
  if (!a) return {};
  const auto all = take(sparse_tensors_of(*a));
  if (all.empty()) {
    fail(invalid("attribute {} holds no tensor", name));
    return {};
  }
  return take(read_sparse_tensor(all.back(), importer_.files()));
}

Type Context::type(std::string_view name) {
  const AttributeProto* a = typed(name, AttributeType::type);
  if (!a) return {};
  return take(parse_type(take(type_of(*a)), name));
}

const GraphProto* Context::graph(std::string_view name) {
  const AttributeProto* a = typed(name, AttributeType::graph);
  return a && !a->graphs.empty() ? a->graphs.back().get() : nullptr;
}

void Context::ignore(std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) mark_read(name);
}

// Notes the file's own view of the name: the caller's may be a temporary.
void Context::mark_read(std::string_view name) {
  for (const AttributeProto& a : node_.attributes)
    if (a.name == name) read_.push_back(a.name);
}

void Context::refuse_unread_attributes() {
  for (const AttributeProto& a : node_.attributes)
    if (std::find(read_.begin(), read_.end(), a.name) == read_.end())
      fail(unsupported("attribute {} has no meaning in version {} of {}", a.name, version_,
                       node_.op_type));
}

Values Context::fail(Error error) {
  builder().fail(std::move(error));
  return all("reshape", {}, {}, std::max(1, num_outputs()));
}

Values Context::all(std::string_view page, Values inputs, Attrs attrs, int num_outputs,
                    std::vector<std::unique_ptr<Graph>> regions) {
  const Operator* found = scope_.builder.table().find(page);
  if (!found)
    return fail(unsupported("{} becomes the operator {}, which this build does not have",
                            node_.op_type, page));
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  return builder().call(*found, std::move(inputs), std::move(attrs), std::move(regions),
                        num_outputs);
}

Value* Context::cast(Value* x, DType to) {
  return x && x->type().dtype() == to ? x : op("cast", {x}, {{"to", to}});
}

Value* Context::number(double v, DType dtype) {
  if (dtype == DType::undefined || dtype == DType::string)
    return fail_value(invalid("a number is needed where the type is {}", tenon::name(dtype)));
  return constant(Tensor::full(dtype, {}, v));
}

Value* Context::size_of_axis(Value* x, std::int64_t axis) {
  Attrs attrs{{"start", axis}};
  if (axis != -1) attrs.set("end", axis + 1);
  return op("shape", {x}, std::move(attrs));
}

Value* Context::pad_ndim(Value* x, int wanted) {
  std::vector<std::int64_t> axes;
  for (int i = ndim(x); i < wanted; ++i) axes.push_back(i);
  return unsqueeze(x, std::move(axes));
}

std::optional<Tensor> Context::known(const Value* v) const {
  if (!v) return std::nullopt;
  if (v->is_constant()) return v->tensor();
  const auto integers = known_integers(v);
  const auto dims = v->type().ranked() ? constant_dims(v->type().shape()) : std::nullopt;
  if (!integers || !dims) return std::nullopt;
  return from_int64s(*integers, v->type().dtype(), *dims);
}

std::optional<std::vector<std::int64_t>> Context::known_integers(const Value* v) const {
  if (!v) return std::nullopt;
  constexpr std::int64_t kLongest = 4096;  // longer ones are data
  const bool is_whole = is_integer(v->type().dtype()) || v->type().dtype() == DType::boolean;
  if (v->is_constant() && v->tensor().count() <= kLongest && is_whole)
    return to_int64s(v->tensor());
  if (!v->contents()) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const Dim& d : *v->contents()) {
    if (!d.is_constant()) return std::nullopt;
    out.push_back(d.value());
  }
  return out;
}

int Context::ndim(const Value* v) {
  if (v->type().ranked()) return v->type().ndim();
  fail(unsupported("the rank of {} must be known when the model is read",
                   v->name().empty() ? "an input" : v->name()));
  return 0;
}

Value* Context::with_ndim(Value* x, int wanted) {
  if (!x || x->type().ranked() || !x->type().is_tensor()) return x;
  return reshape(x, std::vector<std::int64_t>(static_cast<std::size_t>(wanted), 0));
}

Region Context::region(std::string_view attribute, const Types& types, const Values& seed) {
  const GraphProto* g = graph(attribute);
  if (g)
    return importer_.build_region(*g, scope_, frame_, types, seed,
                                  fmt::format("{}/{}", node_.name, attribute));
  fail(invalid("the graph attribute {} is missing", attribute));
  return {};
}

Values renamed(Context& c) {
  Attrs attrs;
  for (const auto& [key, fallback] : c.row().attrs) switch (fallback.kind()) {
      case Attr::Kind::boolean: attrs.set(key, c.flag(key, *fallback.get<bool>())); break;
      case Attr::Kind::integer:
        attrs.set(key, c.integer(key, *fallback.get<std::int64_t>()));
        break;
      case Attr::Kind::real: attrs.set(key, c.real(key, *fallback.get<double>())); break;
      case Attr::Kind::text: attrs.set(key, c.text(key, *fallback.get<std::string>())); break;
      case Attr::Kind::integers:
        attrs.set(key, c.integers(key, *fallback.get<Attr::Integers>()));
        break;
      case Attr::Kind::reals: attrs.set(key, c.reals(key, *fallback.get<Attr::Reals>())); break;
      default:
        TENON_CHECK(false, "attribute {} of {} cannot go over unchanged", key, c.row().op_type);
    }
  c.ignore({"consumed_inputs"});
  return c.all(c.row().page, c.inputs(), std::move(attrs));
}

}  // namespace tenon::onnx
