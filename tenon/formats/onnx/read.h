// Reads ONNX: model files to graphs, tensor files to runtime values.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/base/tensor.h"
#include "tenon/ir/graph.h"

namespace tenon::onnx {

/// The newest version of the default operator set whose semantics the importer knows.
inline constexpr int kNewestOpset = 28;

struct ReadOptions {
  /// Sizes that replace the declared ones of graph inputs, by input name; -1 keeps a declared size.
  std::map<std::string, Dims> shapes;
  /// Makes a batch size that the exporter baked in symbolic again: the leading size of inputs, and
  /// constants of Reshape, Expand and ConstantOfShape that repeat it. The symbol is "batch".
  bool free_batch = false;
};

/// A batch size that the file fixes.
struct BakedBatch {
  std::int64_t size = 0;
  std::vector<std::string> inputs;  // whose leading size it is
  std::vector<std::string> places;  // nodes whose constants repeat it
  bool freed = false;               // by ReadOptions::free_batch
};

/// What a file held.
struct Imported {
  std::unique_ptr<Graph> graph;
  std::map<std::string, std::int64_t> opsets;  // by domain; "" is the default one
  std::int64_t ir_version = 0;
  std::string producer;  // "pytorch 2.15.0"
  std::vector<std::string> warnings;
  std::vector<std::string> data_files;  // external data, relative to the model
  std::optional<BakedBatch> baked_batch;
};

/// Reads a model file. Weights stay in the mapped file (or its external data files) wherever their
/// alignment allows. Every problem of the file is in the error: the first, and the rest in
/// `others`. not_found or io: the file; invalid: a malformed or contradictory model; unsupported:
/// operators, operator versions or attributes that have no meaning here.
Result<Imported> read(const std::filesystem::path& path, const ReadOptions& options = {});

/// The same from bytes in memory. `owner` keeps them alive for tensors that borrow them (nullptr:
/// copy); `name` stands in errors; external data lies below `folder` (empty: refused).
Result<Imported> read_bytes(std::string_view bytes, std::shared_ptr<const void> owner,
                            std::string_view name, const std::filesystem::path& folder = {},
                            const ReadOptions& options = {});

/// A TensorProto, SequenceProto or OptionalProto file; `type` says which of them it is.
Result<Datum> read_datum(const std::filesystem::path& path, const Type& type);
Result<Datum> parse_datum(std::string_view bytes, std::shared_ptr<const void> owner,
                          const Type& type);

}  // namespace tenon::onnx
