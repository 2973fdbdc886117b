// ZIP archives, stored and deflated, with 64-bit sizes: what .npz files and PyTorch checkpoints
// are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/file.h"

namespace tenon {

struct ZipEntry {
  std::string name;
  std::uint64_t packed_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t header_offset = 0;
  std::uint32_t crc32 = 0;
  std::uint16_t method = 0;  // 0 stored, 8 deflated
};

/// Reads the central directory of `bytes`; entries are checked against their local headers when
/// they are read. Refused: encrypted entries, several disks, other methods, sizes that disagree,
/// overlaps with the end of the archive, and a claimed expansion that deflate cannot reach.
class ZipReader {
 public:
  static Result<ZipReader> open(const std::filesystem::path& path);
  static Result<ZipReader> parse(std::span<const std::byte> bytes,
                                 std::shared_ptr<const void> owner);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* find(std::string_view name) const;
  /// The content, inflated if need be and checked against its CRC-32.
  Result<std::string> read(const ZipEntry& entry) const;
  /// The bytes of a stored entry inside the archive, without a copy and without the CRC check.
  Result<std::span<const std::byte>> stored(const ZipEntry& entry) const;
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::vector<ZipEntry> entries_;
};

/// Writes stored or deflated entries; the archive appears at `finish`. Times are fixed, so equal
/// content gives equal bytes. Content of an entry is aligned to 64 bytes, so that it can be mapped.
class ZipWriter {
 public:
  static Result<ZipWriter> create(const std::filesystem::path& path);
  Status add(std::string_view name, std::string_view content, bool deflate = false);
  Status finish();

 private:
  explicit ZipWriter(AtomicFile file) : file_(std::move(file)) {}
  Status put(std::string_view bytes);
  AtomicFile file_;
  std::vector<ZipEntry> entries_;
  std::uint64_t offset_ = 0;
};

/// Inflates zlib, gzip or raw deflate data (as zlib's `window_bits` says: 15, 31, -15), at most
/// `max_bytes` of it; a longer result is an error.
Result<std::string> inflate_bytes(std::span<const std::byte> packed, int window_bits,
                                  std::uint64_t max_bytes);
/// A gzip file of one or more members, or, without gzip's magic bytes, the file as it is.
Result<std::string> read_gzip(const std::filesystem::path& path,
                              std::uint64_t max_bytes = std::uint64_t{4} << 30);

}  // namespace tenon
