// Writes protocol buffer messages field by field.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::onnx {

/// One message under construction; submessages are written first and then added as bytes.
class WireWriter {
 public:
  WireWriter& integer(int field, std::int64_t value) {
    tag(field, 0);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  WireWriter& real(int field, float value) {
    tag(field, 5);
    append(&value, sizeof value);
    return *this;
  }
  WireWriter& text(int field, std::string_view bytes) {
    tag(field, 2);
    varint(bytes.size());
    out_ += bytes;
    return *this;
  }
  WireWriter& message(int field, const WireWriter& m) { return text(field, m.out_); }
  /// Packed lists.
  WireWriter& integers(int field, std::span<const std::int64_t> values) {
    WireWriter packed;
    for (std::int64_t v : values) packed.varint(static_cast<std::uint64_t>(v));
    return text(field, packed.out_);
  }
  WireWriter& reals(int field, std::span<const double> values) {
    WireWriter packed;
    for (double v : values) {
      const auto f = static_cast<float>(v);
      packed.append(&f, sizeof f);
    }
    return text(field, packed.out_);
  }
  const std::string& bytes() const& { return out_; }
  std::string bytes() && { return std::move(out_); }

 private:
  void tag(int field, unsigned type) { varint((static_cast<std::uint64_t>(field) << 3) | type); }
  void varint(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) out_ += static_cast<char>((v & 0x7f) | 0x80);
    out_ += static_cast<char>(v);
  }
  void append(const void* data, std::size_t size) {
    out_.append(static_cast<const char*>(data), size);
  }
  std::string out_;
};

}  // namespace tenon::onnx
