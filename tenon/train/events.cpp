// Wire format by hand: a dozen bytes a scalar want no library.
#include "tenon/train/events.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>

namespace tenon::train {
namespace {

std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = (c >> 1) ^ (c & 1 ? 0x82f63b78u : 0);
    table[i] = c;
  }
  return table;
}

template <class T>
void put_raw(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}
void put_varint(std::string& out, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  out += static_cast<char>(v);
}
enum Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
void put_tag(std::string& out, int field, Wire wire) {
  put_varint(out, static_cast<std::uint64_t>(field) << 3 | wire);
}
void put_bytes(std::string& out, int field, std::string_view text) {
  put_tag(out, field, bytes);
  put_varint(out, text.size());
  out += text;
}

// Checksums of data that holds checksums are weak, so TFRecord turns and shifts them.
std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

std::string event(double wall_seconds) {
  std::string out;
  put_tag(out, 1, fixed64);
  put_raw(out, wall_seconds);
  return out;
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::uint32_t crc32c(std::string_view text) {
  static const auto table = make_table();
  std::uint32_t crc = 0xffffffffu;
  for (char c : text) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

std::string tf_record(std::string_view data) {
  std::string length, out;
  put_raw(length, static_cast<std::uint64_t>(data.size()));
  out = length;
  put_raw(out, masked(crc32c(length)));
  out += data;
  put_raw(out, masked(crc32c(data)));
  return out;
}

std::string scalar_event(double wall_seconds, std::int64_t step,
                         std::span<const std::pair<std::string, double>> scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    std::string one;
    put_bytes(one, 1, tag);
    put_tag(one, 2, fixed32);
    put_raw(one, static_cast<float>(value));
    put_bytes(summary, 1, one);
  }
  std::string out = event(wall_seconds);
  put_tag(out, 2, varint);
  put_varint(out, static_cast<std::uint64_t>(step));
  put_bytes(out, 5, summary);
  return out;
}

std::string version_event(double wall_seconds) {
  std::string out = event(wall_seconds);
  put_bytes(out, 3, "brain.Event:2");
  return out;
}

Result<std::unique_ptr<EventWriter>> EventWriter::create(const std::filesystem::path& folder) {
  char host[256] = "host";
  ::gethostname(host, sizeof(host) - 1);
  const double time = now();
  const auto path =
      folder / fmt::format("events.out.tfevents.{}.{}.{}", static_cast<std::int64_t>(time), host,
                           static_cast<int>(::getpid()));
  std::unique_ptr<EventWriter> w(new EventWriter);
  w->file_ = std::fopen(path.c_str(), "ab");
  if (!w->file_) return io_error("cannot be created: {}", std::strerror(errno)).at(path.string());
  const std::string first = tf_record(version_event(time));
  if (std::fwrite(first.data(), 1, first.size(), w->file_) != first.size())
    return io_error("cannot be written").at(path.string());
  return w;
}

EventWriter::~EventWriter() {
  if (file_) std::fclose(file_);
}

Status EventWriter::write(std::int64_t step,
                          std::span<const std::pair<std::string, double>> scalars) {
  const std::string record = tf_record(scalar_event(now(), step, scalars));
  if (std::fwrite(record.data(), 1, record.size(), file_) != record.size() ||
      std::fflush(file_) != 0)
    return io_error("the event file cannot be written: {}", std::strerror(errno));
  return {};
}

}  // namespace tenon::train
