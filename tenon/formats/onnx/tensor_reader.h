// TensorProto to Tensor: weights borrow the mapped file, everything else is decoded once.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "tenon/base/file.h"
#include "tenon/base/tensor.h"
#include "tenon/formats/onnx/proto.h"

namespace tenon::onnx {

/// A sparse tensor whose dense form takes more bytes than this is refused.
inline constexpr std::int64_t kMaxDenseBytes = std::int64_t{1} << 28;

/// Where the data of a model lies: its own bytes, and external files, each mapped once.
class DataFiles {
 public:
  /// `owner` keeps the model's bytes alive for tensors that borrow them; without one they copy.
  /// External files lie below `folder`; an empty folder refuses them.
  DataFiles(std::shared_ptr<const void> owner, std::filesystem::path folder)
      : owner_(std::move(owner)), folder_(std::move(folder)) {}
  const std::shared_ptr<const void>& owner() const { return owner_; }
  /// Invalid: a path that leads out of the folder; not_found or io: the file cannot be opened.
  Result<std::shared_ptr<const MappedFile>> open(std::string_view location);
  /// Names of the external files opened so far, sorted.
  std::vector<std::string> opened() const;

 private:
  std::shared_ptr<const void> owner_;
  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> open_;
};

/// The tensor; invalid when type, dims and data disagree. Types under eight bits are unpacked to
/// one element a byte.
Result<Tensor> read_tensor(const TensorProto& t, DataFiles& files);
/// The dense form of a sparse tensor (values at linear or coordinate indices, zero elsewhere).
Result<Tensor> read_sparse_tensor(const SparseTensorProto& t, DataFiles& files);

}  // namespace tenon::onnx
