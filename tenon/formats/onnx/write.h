// Writes graphs as ONNX files, and runtime values as TensorProto, SequenceProto or OptionalProto.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tenon/base/tensor.h"
#include "tenon/ir/graph.h"

namespace tenon::onnx {

struct WriteOptions {
  /// Version of the default operator set; 0 takes the oldest (at least 21) that has every operator
  /// written.
  int opset = 0;
  /// Weights of at least this many bytes go to `<file>.data` beside the model; a model of over 1
  /// GiB of weights always puts them there (protocol buffers end at 2 GiB).
  std::int64_t external_bytes = std::int64_t{1} << 62;
};

/// What came of writing.
struct Written {
  int opset = 0;
  /// What the file cannot say: attributes and facts that were left out, with the node they belong
  /// to.
  std::vector<std::string> lost;
  std::vector<std::string> data_files;  // relative to the model
};

/// Writes a model file, whole or not at all. Operators without an ONNX counterpart are written
/// through their decomposition. unsupported: operators that ONNX cannot express, all of them in one
/// error.
Result<Written> write(const Graph& graph, const std::filesystem::path& path,
                      const WriteOptions& options = {});
/// The same as bytes, all weights inside; out_of_memory when they exceed what a protocol buffer
/// holds.
Result<std::string> write_bytes(const Graph& graph, const WriteOptions& options = {},
                                Written* written = nullptr);

/// A runtime value as the bytes of a TensorProto, SequenceProto or OptionalProto file. `type` says
/// which: an optional that holds a tensor is told from the tensor itself by it.
std::string datum_bytes(const Datum& value, const Type& type, std::string_view name = {});

}  // namespace tenon::onnx
