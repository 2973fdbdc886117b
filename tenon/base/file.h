// Files: read-only maps, capped reads, atomic writes of files and folders, safe paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tenon/base/error.h"

namespace tenon {

/// A file mapped read-only. The map stays valid after the file is renamed or removed; a file that
/// is truncated while mapped kills the process on access (POSIX gives no way around it).
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  std::size_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::filesystem::path path_;
};

/// The whole file as bytes; a file larger than `max_bytes` is an error, not a partial read.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::size_t max_bytes = std::size_t{1} << 30);

/// A file that appears whole or not at all: written under a temporary name in the same folder,
/// synced and renamed by `commit`; without a commit the destructor removes it.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::filesystem::path& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();
  Status write(std::string_view bytes);
  Status write(std::span<const std::byte> bytes) {
    return write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  Status commit();

 private:
  AtomicFile() = default;
  std::filesystem::path path_, temporary_;
  int fd_ = -1;
};

Status write_file_atomic(const std::filesystem::path& path, std::string_view bytes);

/// A folder that appears whole or not at all: fill `path()`, then `commit` syncs its files and
/// renames it to the target, replacing a folder that is there (the old one is moved aside first and
/// removed last). Without a commit the destructor removes it.
class AtomicDirectory {
 public:
  static Result<AtomicDirectory> create(const std::filesystem::path& target);
  AtomicDirectory(AtomicDirectory&& other) noexcept;
  AtomicDirectory& operator=(AtomicDirectory&&) = delete;
  ~AtomicDirectory();
  const std::filesystem::path& path() const { return temporary_; }
  Status commit();

 private:
  AtomicDirectory() = default;
  std::filesystem::path target_, temporary_;
};

/// `relative` below `root`: refuses absolute paths, "..", empty names, backslashes, NUL bytes and
/// symbolic links that lead out of `root`. The file itself need not exist.
Result<std::filesystem::path> safe_path(const std::filesystem::path& root,
                                        std::string_view relative);

/// Lower-case hexadecimal SHA-256 (FIPS 180-4).
std::string sha256(std::string_view bytes);
Result<std::string> sha256_file(const std::filesystem::path& path);

}  // namespace tenon
