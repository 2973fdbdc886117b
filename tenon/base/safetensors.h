// safetensors files: a JSON header and one block of raw tensors, mapped and borrowed.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/npy.h"
#include "tenon/base/tensor.h"

namespace tenon {

struct SafetensorsEntry {
  std::string name;
  std::string stored_as;  // the format's own name of the type: "F32", "F4"
  DType dtype = DType::undefined;
  Dims dims;
  std::uint64_t begin = 0, end = 0;  // within the data block
};

/// A safetensors file. Validation is as strict as the format's: header at most 100 MB, no duplicate
/// names, offsets in range, sizes that agree with shape and type, and no hole or overlap between
/// tensors. Types of Tenon that the format lacks (i4, u4, i2, u2, c128, string, the fnuz floats)
/// are stored under a plain type and named in the metadata as `tenon.NAME`, which this reader
/// honours.
class Safetensors {
 public:
  static Result<Safetensors> open(const std::filesystem::path& path);
  static Result<Safetensors> parse(std::span<const std::byte> bytes,
                                   std::shared_ptr<const void> owner);

  /// Sorted by name.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  const SafetensorsEntry* find(std::string_view name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Borrows the file's bytes where they are aligned for their type and stored one element a byte
  /// or more; otherwise copies (F4 is unpacked, low half first).
  Result<Tensor> tensor(const SafetensorsEntry& entry) const;
  Result<Tensor> tensor(std::string_view name) const;

 private:
  std::span<const std::byte> data_;
  std::shared_ptr<const void> owner_;
  std::vector<SafetensorsEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

/// Writes atomically. Tensors are laid out by falling alignment and then by name, as the reference
/// writer does; the data block starts at a multiple of 64. Keys `tenon.*` of `metadata` are
/// reserved.
Status write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                         const std::map<std::string, std::string>& metadata = {});

}  // namespace tenon
