// Messages of an ONNX file, field by field. Field numbers are those of onnx.proto (IR version 13).
#include "tenon/formats/onnx/proto.h"

#include <array>
#include <cstring>

#include "tenon/formats/onnx/wire.h"

namespace tenon::onnx {
namespace {

// What bounds one walk: depth of graphs in graphs, and nodes in all of them.
struct Budget {
  std::int64_t nodes = kMaxNodes;
};

Status append_integers(const WireReader& r, std::vector<std::int64_t>& out) {
  if (r.type() == WireType::varint) {
    out.push_back(TENON_TRY(r.integer()));
    return {};
  }
  std::string_view packed = TENON_TRY(r.text());
  std::uint64_t v = 0;
  while (!packed.empty()) {
    if (!take_varint(packed, v)) return invalid("a list of integers is cut off");
    out.push_back(static_cast<std::int64_t>(v));
  }
  return {};
}

Status append_reals(const WireReader& r, std::vector<double>& out) {
  if (r.type() == WireType::fixed32) {
    out.push_back(TENON_TRY(r.real()));
    return {};
  }
  const std::string_view packed = TENON_TRY(r.text());
  if (packed.size() % 4) return invalid("a list of floats is cut off");
  for (std::size_t i = 0; i < packed.size(); i += 4) {
    float v = 0;
    std::memcpy(&v, packed.data() + i, 4);
    out.push_back(v);
  }
  return {};
}

// StringStringEntryProto
Status append_pair(std::string_view bytes, TextPairs& out) {
  std::string_view key, value;
  WireReader r(bytes, "StringStringEntryProto");
  while (TENON_TRY(r.next())) {
    if (r.field() == 1)
      key = TENON_TRY(r.text());
    else if (r.field() == 2)
      value = TENON_TRY(r.text());
  }
  out.emplace_back(key, value);
  return {};
}

Result<GraphProto> parse_graph(std::string_view bytes, int depth, Budget& budget);

Result<AttributeProto> parse_attribute(std::string_view bytes, int depth, Budget& budget) {
  AttributeProto a;
  a.bytes = bytes;
  WireReader r(bytes, "AttributeProto");
  // Files of IR version 1 have no `type` field: the payload's own field tells it.
  constexpr std::array<std::uint8_t, 16> kind_of_field = {0, 0, 1, 2,  3, 4, 5,  6,
                                                          7, 8, 9, 10, 0, 0, 13, 14};
  AttributeType seen = AttributeType::undefined;
  while (TENON_TRY(r.next())) {
    const int f = r.field();
    if (f == 1)
      a.name = TENON_TRY(r.text());
    else if (f == 20)
      a.type = static_cast<AttributeType>(TENON_TRY(r.integer()) & 0xff);
    else if (f == 21)
      a.reference = TENON_TRY(r.text());
    else if (f == 6 || f == 11)
      a.graphs.push_back(std::make_unique<GraphProto>(
          TENON_TRY(parse_graph(TENON_TRY(r.text()), depth + 1, budget))));
    if (f == 22)
      seen = AttributeType::sparse_tensor;
    else if (f == 23)
      seen = AttributeType::sparse_tensors;
    else if (f >= 2 && f < 16 && f != 12 && f != 13)
      seen = static_cast<AttributeType>(kind_of_field[static_cast<std::size_t>(f)]);
  }
  if (a.type == AttributeType::undefined) a.type = seen;
  if (static_cast<int>(a.type) > static_cast<int>(AttributeType::types))
    return invalid("attribute {} has the unknown type {}", a.name, static_cast<int>(a.type));
  return a;
}

Result<NodeProto> parse_node(std::string_view bytes, int depth, Budget& budget) {
  if (--budget.nodes < 0) return invalid("the file holds more than {} nodes", kMaxNodes);
  NodeProto n;
  WireReader r(bytes, "NodeProto");
  while (TENON_TRY(r.next())) switch (r.field()) {
      case 1: n.inputs.push_back(TENON_TRY(r.text())); break;
      case 2: n.outputs.push_back(TENON_TRY(r.text())); break;
      case 3: n.name = TENON_TRY(r.text()); break;
      case 4: n.op_type = TENON_TRY(r.text()); break;
      case 5:
        n.attributes.push_back(TENON_TRY(parse_attribute(TENON_TRY(r.text()), depth, budget)));
        break;
      case 7: n.domain = TENON_TRY(r.text()); break;
      case 8: n.overload = TENON_TRY(r.text()); break;
      case 9: TENON_TRY(append_pair(TENON_TRY(r.text()), n.metadata)); break;
      default: break;
    }
  if (n.domain == "ai.onnx") n.domain = {};
  return n;
}

Result<ValueInfoProto> parse_value_info(std::string_view bytes) {
  ValueInfoProto v;
  WireReader r(bytes, "ValueInfoProto");
  while (TENON_TRY(r.next())) {
    if (r.field() == 1)
      v.name = TENON_TRY(r.text());
    else if (r.field() == 2)
      v.type = TENON_TRY(r.text());
  }
  return v;
}

Result<GraphProto> parse_graph(std::string_view bytes, int depth, Budget& budget) {
  if (depth > kMaxDepth)
    return invalid("graphs are nested more than {} deep", kMaxDepth)
        .with_help("flatten the If and Loop nodes of the model");
  GraphProto g;
  WireReader r(bytes, "GraphProto");
  while (TENON_TRY(r.next())) switch (r.field()) {
      case 1: {
        auto node = parse_node(TENON_TRY(r.text()), depth, budget);
        // Only the outermost graph is named: a chain of places would say nothing more.
        if (!node.ok() && depth == 0)
          return std::move(node).error().at(fmt::format("node #{}", g.nodes.size()));
        g.nodes.push_back(TENON_TRY(std::move(node)));
        g.nodes.back().index = static_cast<int>(g.nodes.size()) - 1;
        break;
      }
      case 2: g.name = TENON_TRY(r.text()); break;
      case 5:
        g.initializers.push_back(TENON_TRY_AT(fmt::format("initializer #{}", g.initializers.size()),
                                              parse_tensor(TENON_TRY(r.text()))));
        break;
      case 11: g.inputs.push_back(TENON_TRY(parse_value_info(TENON_TRY(r.text())))); break;
      case 12: g.outputs.push_back(TENON_TRY(parse_value_info(TENON_TRY(r.text())))); break;
      case 13: g.value_infos.push_back(TENON_TRY(parse_value_info(TENON_TRY(r.text())))); break;
      case 15:
        g.sparse_initializers.push_back(TENON_TRY(parse_sparse_tensor(TENON_TRY(r.text()))));
        break;
      default: break;
    }
  return g;
}

Result<OpsetImport> parse_opset(std::string_view bytes) {
  OpsetImport o;
  WireReader r(bytes, "OperatorSetIdProto");
  while (TENON_TRY(r.next())) {
    if (r.field() == 1)
      o.domain = TENON_TRY(r.text());
    else if (r.field() == 2)
      o.version = TENON_TRY(r.integer());
  }
  if (o.domain == "ai.onnx") o.domain = {};
  return o;
}

Result<FunctionProto> parse_function(std::string_view bytes, Budget& budget) {
  FunctionProto f;
  WireReader r(bytes, "FunctionProto");
  while (TENON_TRY(r.next())) switch (r.field()) {
      case 1: f.name = TENON_TRY(r.text()); break;
      case 4: f.inputs.push_back(TENON_TRY(r.text())); break;
      case 5: f.outputs.push_back(TENON_TRY(r.text())); break;
      case 6: f.attributes.push_back(TENON_TRY(r.text())); break;
      case 7: {
        f.nodes.push_back(TENON_TRY(parse_node(TENON_TRY(r.text()), 1, budget)));
        f.nodes.back().index = static_cast<int>(f.nodes.size()) - 1;
        break;
      }
      case 9: f.opsets.push_back(TENON_TRY(parse_opset(TENON_TRY(r.text())))); break;
      case 10: f.domain = TENON_TRY(r.text()); break;
      case 11:
        f.default_attributes.push_back(TENON_TRY(parse_attribute(TENON_TRY(r.text()), 1, budget)));
        break;
      case 13: f.overload = TENON_TRY(r.text()); break;
      default: break;
    }
  if (f.domain == "ai.onnx") f.domain = {};
  return f;
}

}  // namespace

Result<ModelProto> parse_model(std::string_view bytes) {
  ModelProto m;
  Budget budget;
  WireReader r(bytes, "ModelProto");
  while (TENON_TRY(r.next())) switch (r.field()) {
      case 1: m.ir_version = TENON_TRY(r.integer()); break;
      case 2: m.producer_name = TENON_TRY(r.text()); break;
      case 3: m.producer_version = TENON_TRY(r.text()); break;
      case 4: m.domain = TENON_TRY(r.text()); break;
      case 5: m.model_version = TENON_TRY(r.integer()); break;
      case 7:
        m.graph = TENON_TRY(parse_graph(TENON_TRY(r.text()), 0, budget));
        m.has_graph = true;
        break;
      case 8: m.opsets.push_back(TENON_TRY(parse_opset(TENON_TRY(r.text())))); break;
      case 14: TENON_TRY(append_pair(TENON_TRY(r.text()), m.metadata)); break;
      case 25:
        m.functions.push_back(TENON_TRY_AT(fmt::format("function #{}", m.functions.size()),
                                           parse_function(TENON_TRY(r.text()), budget)));
        break;
      default: break;
    }
  return m;
}

Result<TensorProto> parse_tensor(std::string_view bytes) {
  TensorProto t;
  t.bytes = bytes;
  WireReader r(bytes, "TensorProto");
  while (TENON_TRY(r.next())) switch (r.field()) {
      case 1: TENON_TRY(append_integers(r, t.dims)); break;
      case 2: t.data_type = TENON_TRY(r.integer()); break;
      case 8: t.name = TENON_TRY(r.text()); break;
      case 9: t.raw_data = TENON_TRY(r.text()); break;
      case 13: TENON_TRY(append_pair(TENON_TRY(r.text()), t.external_data)); break;
      case 14: t.is_external = TENON_TRY(r.integer()) == 1; break;
      default: break;
    }
  return t;
}

Result<SparseTensorProto> parse_sparse_tensor(std::string_view bytes) {
  SparseTensorProto s;
  WireReader r(bytes, "SparseTensorProto");
  while (TENON_TRY(r.next())) switch (r.field()) {
      case 1: s.values = TENON_TRY(parse_tensor(TENON_TRY(r.text()))); break;
      case 2: s.indices = TENON_TRY(parse_tensor(TENON_TRY(r.text()))); break;
      case 3: TENON_TRY(append_integers(r, s.dims)); break;
      default: break;
    }
  return s;
}

Result<std::vector<std::int64_t>> integers_of(const AttributeProto& a) {
  std::vector<std::int64_t> out;
  WireReader r(a.bytes, "AttributeProto");
  while (TENON_TRY(r.next()))
    if (r.field() == 3 || r.field() == 8) TENON_TRY(append_integers(r, out));
  return out;
}

Result<std::vector<double>> reals_of(const AttributeProto& a) {
  std::vector<double> out;
  WireReader r(a.bytes, "AttributeProto");
  while (TENON_TRY(r.next()))
    if (r.field() == 2 || r.field() == 7) TENON_TRY(append_reals(r, out));
  return out;
}

Result<std::vector<std::string>> texts_of(const AttributeProto& a) {
  std::vector<std::string> out;
  WireReader r(a.bytes, "AttributeProto");
  while (TENON_TRY(r.next()))
    if (r.field() == 4 || r.field() == 9) out.emplace_back(TENON_TRY(r.text()));
  return out;
}

Result<std::vector<TensorProto>> tensors_of(const AttributeProto& a) {
  std::vector<TensorProto> out;
  WireReader r(a.bytes, "AttributeProto");
  while (TENON_TRY(r.next()))
    if (r.field() == 5 || r.field() == 10)
      out.push_back(TENON_TRY(parse_tensor(TENON_TRY(r.text()))));
  return out;
}

Result<std::vector<SparseTensorProto>> sparse_tensors_of(const AttributeProto& a) {
  std::vector<SparseTensorProto> out;
  WireReader r(a.bytes, "AttributeProto");
  while (TENON_TRY(r.next()))
    if (r.field() == 22 || r.field() == 23)
      out.push_back(TENON_TRY(parse_sparse_tensor(TENON_TRY(r.text()))));
  return out;
}

Result<std::string_view> type_of(const AttributeProto& a) {
  std::string_view out;
  WireReader r(a.bytes, "AttributeProto");
  while (TENON_TRY(r.next()))
    if (r.field() == 14) out = TENON_TRY(r.text());
  return out;
}

std::string_view name(AttributeType type) {
  constexpr std::array<std::string_view, 15> names = {
      "undefined",      "float", "int",     "string",  "tensor", "graph",
      "floats",         "ints",  "strings", "tensors", "graphs", "sparse tensor",
      "sparse tensors", "type",  "types"};
  return names[static_cast<std::size_t>(type)];
}

namespace {

// Position is the number that TensorProto.DataType gives the type.
constexpr std::array<DType, 27> kDTypes = {
    DType::undefined,  DType::f32,  DType::u8,       DType::i8,         DType::u16,
    DType::i16,        DType::i32,  DType::i64,      DType::string,     DType::boolean,
    DType::f16,        DType::f64,  DType::u32,      DType::u64,        DType::c64,
    DType::c128,       DType::bf16, DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2,
    DType::f8e5m2fnuz, DType::u4,   DType::i4,       DType::f4e2m1,     DType::f8e8m0,
    DType::u2,         DType::i2};

// "batch", "2*seq + 1", or any other text as one symbol. Long texts are not read as expressions: a
// hostile product of sums would expand without bound.
Dim dim_named(std::string_view text) {
  constexpr std::size_t kLongestExpression = 80;
  if (text.size() > kLongestExpression)
    text = text.substr(0, 4 * kLongestExpression);
  else if (auto parsed = Dim::parse(text); parsed.ok() && !parsed->is_constant())
    return *parsed;
  std::string symbol;
  for (char c : text) symbol += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (std::isdigit(static_cast<unsigned char>(symbol.front()))) symbol.insert(0, "_");
  return Dim::symbol(symbol);
}

Result<Dim> parse_dim(std::string_view bytes, std::string_view stem, std::size_t axis) {
  std::optional<std::int64_t> value;
  std::string_view parameter;
  WireReader r(bytes, "TensorShapeProto.Dimension");
  while (TENON_TRY(r.next())) {
    if (r.field() == 1)
      value = TENON_TRY(r.integer());
    else if (r.field() == 2)
      parameter = TENON_TRY(r.text());
  }
  if (value && *value >= 0) return Dim(*value);
  if (!parameter.empty() && parameter != "?") return dim_named(parameter);
  return dim_named(fmt::format("{}_d{}", stem, axis));
}

Result<Shape> parse_shape(std::string_view bytes, std::string_view stem) {
  Shape shape;
  WireReader r(bytes, "TensorShapeProto");
  while (TENON_TRY(r.next()))
    if (r.field() == 1)
      shape.push_back(TENON_TRY(parse_dim(TENON_TRY(r.text()), stem, shape.size())));
  return shape;
}

Result<Type> parse_tensor_type(std::string_view bytes, std::string_view stem) {
  std::int64_t number = 0;
  std::optional<Shape> shape;
  WireReader r(bytes, "TypeProto.Tensor");
  while (TENON_TRY(r.next())) {
    if (r.field() == 1)
      number = TENON_TRY(r.integer());
    else if (r.field() == 2)
      shape = TENON_TRY(parse_shape(TENON_TRY(r.text()), stem));
  }
  const auto dtype = dtype_of_onnx(number);
  if (!dtype) return invalid("the element type of {} is the unknown number {}", stem, number);
  return shape ? Type(*dtype, std::move(*shape)) : Type::unranked(*dtype);
}

Result<Type> parse_type(std::string_view bytes, std::string_view stem, int depth) {
  if (depth > 8) return invalid("the type of {} is nested more than 8 deep", stem);
  Type type;
  WireReader r(bytes, "TypeProto");
  while (TENON_TRY(r.next())) {
    if (r.field() == 6) continue;  // denotation
    const std::string_view inner = TENON_TRY(r.text());
    if (r.field() == 1) {
      type = TENON_TRY(parse_tensor_type(inner, stem));
      continue;
    }
    if (r.field() != 4 && r.field() != 9)
      return unsupported("the type of {} is a map or sparse tensor", stem);
    std::string_view element;
    WireReader e(inner, "TypeProto.Sequence");
    while (TENON_TRY(e.next()))
      if (e.field() == 1) element = TENON_TRY(e.text());
    Type held = TENON_TRY(parse_type(element, stem, depth + 1));
    if (!held.defined()) return invalid("the element type of {} is missing", stem);
    type = r.field() == 4 ? Type::sequence(std::move(held)) : Type::optional(std::move(held));
  }
  return type;
}

}  // namespace

std::optional<DType> dtype_of_onnx(std::int64_t number) {
  if (number <= 0 || number >= static_cast<std::int64_t>(kDTypes.size())) return std::nullopt;
  return kDTypes[static_cast<std::size_t>(number)];
}

int onnx_dtype(DType dtype) {
  for (std::size_t i = 1; i < kDTypes.size(); ++i)
    if (kDTypes[i] == dtype) return static_cast<int>(i);
  return 0;
}

Result<Type> parse_type(std::string_view bytes, std::string_view stem) {
  return parse_type(bytes, stem, 0);
}

}  // namespace tenon::onnx
