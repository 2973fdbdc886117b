// The messages of an ONNX file as light records of views into its bytes. Payloads (weights, long
// attribute lists) stay where they are until someone asks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/base/tensor.h"
#include "tenon/ir/type.h"

namespace tenon::onnx {

/// Subgraphs nested deeper than this are refused (real models stay below ten).
inline constexpr int kMaxDepth = 64;
/// More nodes than this in one file, or after inlining its functions, are refused.
inline constexpr std::int64_t kMaxNodes = 2'000'000;

using TextPairs = std::vector<std::pair<std::string_view, std::string_view>>;

/// TensorProto: header fields; the data is decoded by read_tensor (tensor_reader.h).
struct TensorProto {
  std::string_view bytes;  // the whole message
  std::string_view name;
  Dims dims;
  std::int64_t data_type = 0;
  std::optional<std::string_view> raw_data;
  bool is_external = false;
  TextPairs external_data;  // location, offset, length, checksum
};

struct SparseTensorProto {
  TensorProto values, indices;
  Dims dims;
};

struct GraphProto;

/// Kinds of attributes as AttributeProto.type numbers them.
enum class AttributeType : std::uint8_t {
  undefined = 0,
  real = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  texts = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type = 13,
  types = 14
};
std::string_view name(AttributeType type);

struct AttributeProto {
  std::string_view bytes, name;
  AttributeType type = AttributeType::undefined;
  std::string_view reference;  // ref_attr_name: the function's attribute of that name
  std::vector<std::unique_ptr<GraphProto>> graphs;  // of `graph` and `graphs`, read at once
};

struct NodeProto {
  std::string_view name, op_type, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<AttributeProto> attributes;
  TextPairs metadata;
  int index = -1;  // position in its graph
};

struct ValueInfoProto {
  std::string_view name, type;  // TypeProto bytes
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<SparseTensorProto> sparse_initializers;
  std::vector<ValueInfoProto> inputs, outputs, value_infos;
};

struct OpsetImport {
  std::string_view domain;
  std::int64_t version = 0;
};

struct FunctionProto {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs, attributes;
  std::vector<AttributeProto> default_attributes;
  std::vector<NodeProto> nodes;
  std::vector<OpsetImport> opsets;
};

struct ModelProto {
  std::int64_t ir_version = 0, model_version = 0;
  std::string_view producer_name, producer_version, domain;
  std::vector<OpsetImport> opsets;
  GraphProto graph;
  bool has_graph = false;
  std::vector<FunctionProto> functions;
  TextPairs metadata;
};

/// Walks a whole model. Invalid: truncated or malformed messages, subgraphs nested too deep, too
/// many nodes.
Result<ModelProto> parse_model(std::string_view bytes);
Result<TensorProto> parse_tensor(std::string_view bytes);
Result<SparseTensorProto> parse_sparse_tensor(std::string_view bytes);

/// Values of an attribute, decoded on demand; invalid when the payload is malformed.
Result<std::vector<std::int64_t>> integers_of(const AttributeProto& a);
Result<std::vector<double>> reals_of(const AttributeProto& a);
Result<std::vector<std::string>> texts_of(const AttributeProto& a);
Result<std::vector<TensorProto>> tensors_of(const AttributeProto& a);
Result<std::vector<SparseTensorProto>> sparse_tensors_of(const AttributeProto& a);
/// TypeProto bytes of a `type` attribute.
Result<std::string_view> type_of(const AttributeProto& a);

/// The element type that TensorProto.DataType numbers; nothing for unknown numbers.
std::optional<DType> dtype_of_onnx(std::int64_t number);
/// The inverse of dtype_of_onnx.
int onnx_dtype(DType dtype);

/// TypeProto to Type. Named sizes become symbols (or expressions of symbols); a size without value
/// or name becomes the symbol `stem`_d<axis>. Empty bytes give the undefined type.
Result<Type> parse_type(std::string_view bytes, std::string_view stem);

}  // namespace tenon::onnx
