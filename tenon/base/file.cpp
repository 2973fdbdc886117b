// Files over POSIX calls; every failing call is reported with the path and the system's reason.
#include "tenon/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace tenon {
namespace fs = std::filesystem;
namespace {

Error system_error(std::string_view doing, const fs::path& path, int number = errno) {
  const Code code = number == ENOENT || number == ENOTDIR ? Code::not_found : Code::io;
  return error(code, "cannot {} '{}': {}", doing, path.string(),
               std::generic_category().message(number));
}

// Closes a descriptor on the way out of a function.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Result<std::size_t> regular_size(int fd, const fs::path& path) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return system_error("read", path);
  if (S_ISDIR(info.st_mode)) return io_error("'{}' is a folder, not a file", path.string());
  if (!S_ISREG(info.st_mode)) return io_error("'{}' is no regular file", path.string());
  return static_cast<std::size_t>(info.st_size);
}

// Unique in this process and, by the process number, among processes.
fs::path temporary_name(const fs::path& target) {
  static std::atomic<unsigned> counter{0};
  fs::path name = target;
  name += fmt::format(".tmp-{}-{}", ::getpid(), counter.fetch_add(1));
  return name;
}

Status sync_folder(const fs::path& folder) {
  const fs::path name = folder.empty() ? fs::path(".") : folder;
  Descriptor d{::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (d.fd < 0 || (::fsync(d.fd) != 0 && errno != EINVAL)) return system_error("sync", name);
  return {};
}

Status sync_file(const fs::path& path) {
  Descriptor d{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (d.fd < 0 || ::fsync(d.fd) != 0) return system_error("sync", path);
  return {};
}

fs::path without_trailing_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const fs::path& path) {
  // O_NONBLOCK: a fifo in place of a file must not block; regular files ignore it.
  Descriptor d{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (d.fd < 0) return system_error("open", path);
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = path;
  file->size_ = TENON_TRY(regular_size(d.fd, path));
  if (file->size_ > 0) {
    void* at = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, d.fd, 0);
    if (at == MAP_FAILED) return system_error("map", path);
    file->data_ = static_cast<const std::byte*>(at);
  }
  return std::shared_ptr<const MappedFile>(std::move(file));
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

Result<std::string> read_file(const fs::path& path, std::size_t max_bytes) {
  Descriptor d{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (d.fd < 0) return system_error("open", path);
  const std::size_t size = TENON_TRY(regular_size(d.fd, path));
  if (size > max_bytes)
    return invalid("'{}' has {} bytes but at most {} are allowed", path.string(), size, max_bytes);
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::read(d.fd, bytes.data() + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("read", path);
    if (n == 0) break;  // shortened since fstat
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

Result<AtomicFile> AtomicFile::create(const fs::path& path) {
  AtomicFile file;
  file.path_ = path;
  file.temporary_ = temporary_name(path);
  file.fd_ = ::open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file.fd_ < 0) return system_error("create", path);
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)) {
  other.temporary_.clear();
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("write", path_);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Status AtomicFile::commit() {
  TENON_CHECK(fd_ >= 0, "commit of '{}' twice", path_.string());
  if (::fsync(fd_) != 0) return system_error("sync", path_);
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0) return system_error("close", path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return system_error("rename to", path_);
  temporary_.clear();
  return sync_folder(path_.parent_path());
}

Status write_file_atomic(const fs::path& path, std::string_view bytes) {
  AtomicFile file = TENON_TRY(AtomicFile::create(path));
  TENON_TRY(file.write(bytes));
  return file.commit();
}

Result<AtomicDirectory> AtomicDirectory::create(const fs::path& target) {
  AtomicDirectory folder;
  folder.target_ = without_trailing_slash(target);
  const fs::path temporary = temporary_name(folder.target_);
  if (::mkdir(temporary.c_str(), 0777) != 0) return system_error("create", folder.target_);
  folder.temporary_ = temporary;
  return folder;
}

AtomicDirectory::AtomicDirectory(AtomicDirectory&& other) noexcept
    : target_(std::move(other.target_)), temporary_(std::move(other.temporary_)) {
  other.temporary_.clear();
}

AtomicDirectory::~AtomicDirectory() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

Status AtomicDirectory::commit() {
  TENON_CHECK(!temporary_.empty(), "commit of '{}' twice", target_.string());
  std::error_code ec;
  for (fs::recursive_directory_iterator it(temporary_, ec), end; !ec && it != end;
       it.increment(ec)) {
    if (it->is_directory())
      TENON_TRY(sync_folder(it->path()));
    else if (it->is_regular_file())
      TENON_TRY(sync_file(it->path()));
  }
  if (ec) return system_error("list", temporary_, ec.value());
  TENON_TRY(sync_folder(temporary_));
  fs::path old;
  if (fs::symlink_status(target_, ec).type() != fs::file_type::not_found) {
    old = temporary_name(target_);
    if (::rename(target_.c_str(), old.c_str()) != 0) return system_error("replace", target_);
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    const int number = errno;
    if (!old.empty()) ::rename(old.c_str(), target_.c_str());
    return system_error("rename to", target_, number);
  }
  temporary_.clear();
  if (!old.empty()) fs::remove_all(old, ec);
  return sync_folder(target_.parent_path());
}

Result<fs::path> safe_path(const fs::path& root, std::string_view relative) {
  const auto refuse = [&](std::string_view why) {
    return invalid("path '{}' {}", relative, why)
        .with_help("files must lie below the folder of the file that names them");
  };
  if (relative.empty()) return refuse("is empty");
  if (relative.find('\0') != relative.npos) return refuse("holds a NUL byte");
  if (relative.find('\\') != relative.npos) return refuse("holds a backslash");
  const fs::path path(relative);
  if (path.is_absolute()) return refuse("is absolute");
  for (const fs::path& part : path)
    if (part == "..") return refuse("leads upward");
  if (!path.has_filename()) return refuse("names no file");
  std::error_code ec;
  const fs::path real_root = fs::weakly_canonical(root.empty() ? fs::path(".") : root, ec);
  if (ec) return system_error("resolve", root, ec.value());
  const fs::path real = fs::weakly_canonical(real_root / path, ec);
  if (ec) return system_error("resolve", root / path, ec.value());
  const auto [stop, unused] =
      std::mismatch(real_root.begin(), real_root.end(), real.begin(), real.end());
  if (stop != real_root.end()) return refuse("leads out of its folder through a symbolic link");
  return root / path;
}

}  // namespace tenon
