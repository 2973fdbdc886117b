// The messages of Arrow's IPC format are FlatBuffers: tables whose fields are found through a list
// of offsets before them.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace tenon::dataset {

using Bytes = std::span<const std::byte>;

template <class T>
T load(Bytes b, std::size_t at) {
  T v;
  std::memcpy(&v, b.data() + at, sizeof v);
  return v;
}

/// A table, or an element of a list of structs, inside a message. Reads outside the message give
/// the field's default: what a broken message says is checked where it is used.
class Flat {
 public:
  Flat() = default;
  Flat(Bytes message, std::size_t at) : message_(message), at_(at) {}
  static Flat root(Bytes message) {
    return Flat(message, message.size() < 4 ? message.size() : load<std::uint32_t>(message, 0));
  }
  bool present() const { return at_ + 4 <= message_.size(); }

  template <class T>
  T number(int field, T fallback = 0) const {
    const std::size_t at = place(field);
    return at && at + sizeof(T) <= message_.size() ? load<T>(message_, at) : fallback;
  }
  Flat table(int field) const {
    const std::size_t at = target(field);
    return at ? Flat(message_, at) : Flat();
  }
  std::string text(int field) const {
    const std::size_t at = target(field);
    if (!at) return {};
    const std::size_t n = load<std::uint32_t>(message_, at);
    if (n > message_.size() - at - 4) return {};
    return {reinterpret_cast<const char*>(message_.data()) + at + 4, n};
  }
  /// Elements of a list whose elements take `bytes` each.
  std::size_t count(int field, std::size_t bytes) const {
    const std::size_t at = target(field);
    if (!at) return 0;
    const std::size_t n = load<std::uint32_t>(message_, at);
    return n > (message_.size() - at - 4) / bytes ? 0 : n;
  }
  Flat element(int field, std::size_t i) const {
    const std::size_t at = target(field) + 4 + 4 * i;
    return Flat(message_, at + load<std::uint32_t>(message_, at));
  }
  /// Number `k` of the 64-bit numbers that struct `i` of a list consists of (two each).
  std::int64_t pair(int field, std::size_t i, std::size_t k) const {
    return load<std::int64_t>(message_, target(field) + 4 + 16 * i + 8 * k);
  }

 private:
  // Where a field's value stands; 0 if it is absent. The list of offsets lies a signed distance
  // before the table: its own bytes, the table's bytes, then 16 bits a field.
  std::size_t place(int field) const {
    if (!present()) return 0;
    const std::int64_t list = static_cast<std::int64_t>(at_) - load<std::int32_t>(message_, at_);
    const auto size = static_cast<std::int64_t>(message_.size());
    const std::int64_t entry = list + 4 + 2 * field;
    if (list < 0 || list + 4 > size || entry + 2 > size) return 0;
    if (4 + 2 * field + 2 > load<std::uint16_t>(message_, static_cast<std::size_t>(list))) return 0;
    const std::size_t offset = load<std::uint16_t>(message_, static_cast<std::size_t>(entry));
    return offset && at_ + offset < message_.size() ? at_ + offset : 0;
  }
  // Where an offset field leads: at least four bytes stand there.
  std::size_t target(int field) const {
    const std::size_t at = place(field);
    if (!at || at + 4 > message_.size()) return 0;
    const std::size_t to = at + load<std::uint32_t>(message_, at);
    return to + 4 <= message_.size() ? to : 0;
  }
  Bytes message_;
  std::size_t at_ = 0;
};

}  // namespace tenon::dataset
