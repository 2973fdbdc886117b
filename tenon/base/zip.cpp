// ZIP structures by the APPNOTE's numbers; all offsets are checked before they are followed.
#include "tenon/base/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace tenon {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50,
                        kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr std::size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56,
                      kLocator64Bytes = 20;
constexpr std::uint32_t kAll32 = 0xffffffff;
// No deflate stream expands further than about 1032:1 (RFC 1951: 258 bytes from two bits).
constexpr std::uint64_t kMaxExpansion = 1040;

template <class T>
T load(std::span<const std::byte> bytes, std::size_t at) {  // little-endian host assumed
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

struct Directory {
  std::uint64_t offset, bytes, count;
};

Result<Directory> find_directory(std::span<const std::byte> z) {
  if (z.size() < kEndBytes) return invalid("not a zip archive: {} bytes are too few", z.size());
  // The end record may be followed by a comment of at most 65535 bytes.
  const std::size_t lowest = z.size() > kEndBytes + 65535 ? z.size() - kEndBytes - 65535 : 0;
  std::size_t at = z.size() - kEndBytes;
  while (load<std::uint32_t>(z, at) != kEnd ||
         at + kEndBytes + load<std::uint16_t>(z, at + 20) != z.size()) {
    if (at == lowest) return invalid("not a zip archive: no end record");
    --at;
  }
  Directory d{load<std::uint32_t>(z, at + 16), load<std::uint32_t>(z, at + 12),
              load<std::uint16_t>(z, at + 10)};
  if (load<std::uint16_t>(z, at + 4) != 0) return unsupported("zip archive over several disks");
  if (d.offset == kAll32 || d.bytes == kAll32 || d.count == 0xffff) {
    if (at >= kLocator64Bytes && load<std::uint32_t>(z, at - kLocator64Bytes) == kLocator64) {
      const auto end64 = load<std::uint64_t>(z, at - kLocator64Bytes + 8);
      if (end64 > z.size() || z.size() - end64 < kEnd64Bytes ||
          load<std::uint32_t>(z, end64) != kEnd64)
        return invalid("zip archive: the 64-bit end record is not where its locator points");
      d = {load<std::uint64_t>(z, end64 + 48), load<std::uint64_t>(z, end64 + 40),
           load<std::uint64_t>(z, end64 + 32)};
    }
  }
  if (d.offset > at || d.bytes > at - d.offset)
    return invalid("zip archive: the directory ({} bytes at {}) lies outside the file", d.bytes,
                   d.offset);
  return d;
}

// Replaces the 32-bit fields that hold all ones by those of the ZIP64 extra field, in their order.
Status apply_zip64(std::span<const std::byte> extra, ZipEntry& e) {
  std::size_t at = 0;
  while (at + 4 <= extra.size()) {
    const auto id = load<std::uint16_t>(extra, at), size = load<std::uint16_t>(extra, at + 2);
    if (size > extra.size() - at - 4) break;
    if (id == 1) {
      std::size_t field = at + 4;
      for (std::uint64_t* value : {&e.bytes, &e.packed_bytes, &e.header_offset}) {
        if (*value != kAll32) continue;
        if (field + 8 > at + 4 + size) return invalid("zip entry '{}': short 64-bit sizes", e.name);
        *value = load<std::uint64_t>(extra, field);
        field += 8;
      }
      return {};
    }
    at += 4 + size;
  }
  return {};
}

Status check_entry(const ZipEntry& e, std::uint16_t flags, std::uint64_t archive) {
  if (flags & 1) return unsupported("zip entry '{}' is encrypted", e.name);
  if (e.method != 0 && e.method != 8)
    return unsupported("zip entry '{}' uses method {}", e.name, e.method);
  if (e.header_offset > archive || e.packed_bytes > archive - e.header_offset)
    return invalid("zip entry '{}': {} bytes at {} lie outside the file", e.name, e.packed_bytes,
                   e.header_offset);
  if (e.method == 0 && e.bytes != e.packed_bytes)
    return invalid("zip entry '{}' is stored but {} bytes became {}", e.name, e.bytes,
                   e.packed_bytes);
  if (e.method == 8 && e.bytes / kMaxExpansion > e.packed_bytes)
    return invalid("zip entry '{}' claims {} bytes from {}", e.name, e.bytes, e.packed_bytes);
  return {};
}

Result<std::vector<ZipEntry>> read_directory(std::span<const std::byte> z) {
  const Directory d = TENON_TRY(find_directory(z));
  if (d.count > d.bytes / kCentralBytes)
    return invalid("zip archive: {} entries in a directory of {} bytes", d.count, d.bytes);
  std::vector<ZipEntry> entries;
  entries.reserve(d.count);
  std::span<const std::byte> rest = z.subspan(d.offset, d.bytes);
  for (std::uint64_t i = 0; i < d.count; ++i) {
    if (rest.size() < kCentralBytes || load<std::uint32_t>(rest, 0) != kCentral)
      return invalid("zip archive: entry {} of the directory is broken", i);
    const std::size_t name = load<std::uint16_t>(rest, 28), extra = load<std::uint16_t>(rest, 30),
                      comment = load<std::uint16_t>(rest, 32),
                      total = kCentralBytes + name + extra + comment;
    if (total > rest.size()) return invalid("zip archive: entry {} of the directory is cut off", i);
    ZipEntry e{std::string(reinterpret_cast<const char*>(rest.data()) + kCentralBytes, name),
               load<std::uint32_t>(rest, 20),
               load<std::uint32_t>(rest, 24),
               load<std::uint32_t>(rest, 42),
               load<std::uint32_t>(rest, 16),
               load<std::uint16_t>(rest, 10)};
    TENON_TRY(apply_zip64(rest.subspan(kCentralBytes + name, extra), e));
    TENON_TRY(check_entry(e, load<std::uint16_t>(rest, 8), z.size()));
    entries.push_back(std::move(e));
    rest = rest.subspan(total);
  }
  return entries;
}

Result<std::span<const std::byte>> packed_bytes(std::span<const std::byte> z, const ZipEntry& e) {
  const std::uint64_t at = e.header_offset;
  if (z.size() - at < kLocalBytes || load<std::uint32_t>(z, at) != kLocal)
    return invalid("zip entry '{}': no local header at {}", e.name, at);
  const std::uint64_t start =
      at + kLocalBytes + load<std::uint16_t>(z, at + 26) + load<std::uint16_t>(z, at + 28);
  if (start > z.size() || e.packed_bytes > z.size() - start)
    return invalid("zip entry '{}' is cut off", e.name);
  return z.subspan(start, e.packed_bytes);
}

std::uint32_t crc_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

Result<std::string> deflate_bytes(std::string_view bytes) {
  z_stream s{};
  TENON_CHECK(deflateInit2(&s, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out;
  std::string chunk(1 << 16, '\0');
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    if (s.avail_in == 0 && !bytes.empty()) {
      const std::size_t take = std::min<std::size_t>(bytes.size(), 1u << 30);
      s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      s.avail_in = static_cast<uInt>(take);
      bytes.remove_prefix(take);
    }
    s.next_out = reinterpret_cast<Bytef*>(chunk.data());
    s.avail_out = static_cast<uInt>(chunk.size());
    code = deflate(&s, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    TENON_CHECK(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR, "deflate says {}",
                code);
    out.append(chunk.data(), chunk.size() - s.avail_out);
  }
  deflateEnd(&s);
  return out;
}

std::string central_record(const ZipEntry& e) {
  std::string r;
  append(r, kCentral);
  append<std::uint16_t>(r, 45);
  append<std::uint16_t>(r, 45);
  append<std::uint16_t>(r, 1 << 11);  // the name is UTF-8
  append(r, e.method);
  append<std::uint32_t>(r, 0x00210000);  // 1 January 1980
  append(r, e.crc32);
  append(r, kAll32);
  append(r, kAll32);
  append(r, static_cast<std::uint16_t>(e.name.size()));
  append<std::uint16_t>(r, 28);
  append<std::uint16_t>(r, 0);
  append<std::uint16_t>(r, 0);
  append<std::uint16_t>(r, 0);
  append<std::uint32_t>(r, 0);
  append(r, kAll32);
  r += e.name;
  append<std::uint16_t>(r, 1);
  append<std::uint16_t>(r, 24);
  append(r, e.bytes);
  append(r, e.packed_bytes);
  append(r, e.header_offset);
  return r;
}

std::string local_record(const ZipEntry& e) {
  std::string r;
  append(r, kLocal);
  append<std::uint16_t>(r, 45);
  append<std::uint16_t>(r, 1 << 11);
  append(r, e.method);
  append<std::uint32_t>(r, 0x00210000);
  append(r, e.crc32);
  append(r, kAll32);
  append(r, kAll32);
  append(r, static_cast<std::uint16_t>(e.name.size()));
  // A padding extra field (id 0x5054, unused by anyone) brings the content to a multiple of 64.
  const std::size_t before = kLocalBytes + e.name.size() + 20 + 4;
  const std::size_t padding = (64 - (e.header_offset + before) % 64) % 64;
  append(r, static_cast<std::uint16_t>(20 + 4 + padding));
  r += e.name;
  append<std::uint16_t>(r, 1);
  append<std::uint16_t>(r, 16);
  append(r, e.bytes);
  append(r, e.packed_bytes);
  append<std::uint16_t>(r, 0x5054);
  append(r, static_cast<std::uint16_t>(padding));
  r.append(padding, '\0');
  return r;
}

}  // namespace

Result<ZipReader> ZipReader::open(const std::filesystem::path& path) {
  const auto file = TENON_TRY(MappedFile::open(path));
  return placed(parse(file->bytes(), file), [&] { return path.string(); });
}

Result<ZipReader> ZipReader::parse(std::span<const std::byte> bytes,
                                   std::shared_ptr<const void> owner) {
  ZipReader reader;
  reader.bytes_ = bytes;
  reader.owner_ = std::move(owner);
  reader.entries_ = TENON_TRY(read_directory(bytes));
  return reader;
}

const ZipEntry* ZipReader::find(std::string_view name) const {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const ZipEntry& e) { return e.name == name; });
  return at == entries_.end() ? nullptr : &*at;
}

Result<std::span<const std::byte>> ZipReader::stored(const ZipEntry& entry) const {
  if (entry.method != 0) return unsupported("zip entry '{}' is compressed", entry.name);
  return packed_bytes(bytes_, entry);
}

Result<std::string> ZipReader::read(const ZipEntry& entry) const {
  const auto packed = TENON_TRY(packed_bytes(bytes_, entry));
  std::string content;
  if (entry.method == 0)
    content.assign(reinterpret_cast<const char*>(packed.data()), packed.size());
  else
    content = TENON_TRY_AT(entry.name, inflate_bytes(packed, -15, entry.bytes));
  if (content.size() != entry.bytes)
    return invalid("zip entry '{}' holds {} bytes but says {}", entry.name, content.size(),
                   entry.bytes);
  if (crc_of(content) != entry.crc32)
    return invalid("zip entry '{}' is corrupt: its CRC-32 differs", entry.name);
  return content;
}

Result<ZipWriter> ZipWriter::create(const std::filesystem::path& path) {
  return ZipWriter(TENON_TRY(AtomicFile::create(path)));
}

Status ZipWriter::put(std::string_view bytes) {
  TENON_TRY(file_.write(bytes));
  offset_ += bytes.size();
  return {};
}

Status ZipWriter::add(std::string_view name, std::string_view content, bool deflate) {
  if (name.size() > 65535) return invalid("zip entry name of {} bytes", name.size());
  std::string packed;
  if (deflate) packed = TENON_TRY(deflate_bytes(content));
  const std::string_view body = deflate ? std::string_view(packed) : content;
  ZipEntry e{std::string(name), body.size(),     content.size(),
             offset_,           crc_of(content), static_cast<std::uint16_t>(deflate ? 8 : 0)};
  TENON_TRY(put(local_record(e)));
  entries_.push_back(std::move(e));
  return put(body);
}

Status ZipWriter::finish() {
  std::string directory;
  for (const ZipEntry& e : entries_) directory += central_record(e);
  const std::uint64_t start = offset_, end64 = start + directory.size(), count = entries_.size();
  std::string& r = directory;
  const std::uint64_t directory_bytes = r.size();
  append(r, kEnd64);
  append<std::uint64_t>(r, kEnd64Bytes - 12);
  append<std::uint16_t>(r, 45);
  append<std::uint16_t>(r, 45);
  append<std::uint64_t>(r, 0);  // this disk, directory's disk
  for (std::uint64_t v : {count, count, directory_bytes, start}) append(r, v);
  append(r, kLocator64);
  append<std::uint32_t>(r, 0);
  append(r, end64);
  append<std::uint32_t>(r, 1);
  append(r, kEnd);
  append<std::uint32_t>(r, 0);
  append<std::uint16_t>(r, 0xffff);
  append<std::uint16_t>(r, 0xffff);
  append(r, kAll32);
  append(r, kAll32);
  append<std::uint16_t>(r, 0);
  TENON_TRY(put(r));
  return file_.commit();
}

Result<std::string> inflate_bytes(std::span<const std::byte> packed, int window_bits,
                                  std::uint64_t max_bytes) {
  z_stream s{};
  TENON_CHECK(inflateInit2(&s, window_bits) == Z_OK);
  struct End {
    z_stream* s;
    ~End() { inflateEnd(s); }
  } end{&s};
  std::string out;
  while (true) {
    if (s.avail_in == 0 && !packed.empty()) {
      const std::size_t take = std::min<std::size_t>(packed.size(), 1u << 30);
      s.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
      s.avail_in = static_cast<uInt>(take);
      packed = packed.subspan(take);
    }
    const std::size_t done = out.size();
    // One byte more than allowed, so that a longer stream shows itself.
    const std::size_t step =
        std::min<std::uint64_t>(max_bytes + 1 - done, std::max<std::size_t>(1 << 16, done));
    out.resize(done + step);
    s.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    s.avail_out = static_cast<uInt>(std::min<std::size_t>(step, 1u << 30));
    const std::size_t offered = s.avail_out;
    const int code = inflate(&s, Z_NO_FLUSH);
    out.resize(done + offered - s.avail_out);
    if (out.size() > max_bytes) return invalid("compressed data expand beyond {} bytes", max_bytes);
    if (code == Z_STREAM_END) {
      const bool more_members = window_bits > 15 && (s.avail_in > 0 || !packed.empty());
      if (!more_members) return out;
      inflateReset(&s);
      continue;
    }
    if (code == Z_BUF_ERROR && s.avail_in == 0 && packed.empty())
      return invalid("compressed data end early, after {} bytes", out.size());
    if (code != Z_OK && code != Z_BUF_ERROR)
      return invalid("compressed data are corrupt: {}", s.msg ? s.msg : "no reason given");
  }
}

Result<std::string> read_gzip(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const auto file = TENON_TRY(MappedFile::open(path));
  const std::string_view text = file->text();
  if (!text.starts_with("\x1f\x8b")) return read_file(path, max_bytes);
  return placed(inflate_bytes(file->bytes(), 31, max_bytes), [&] { return path.string(); });
}

}  // namespace tenon
