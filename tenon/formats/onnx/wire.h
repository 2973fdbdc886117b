// Protocol buffer wire format, walked in place: no copies, no generated classes, no 2 GiB limit.
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/base/error.h"

namespace tenon::onnx {

/// Wire types of the protocol buffer encoding that may occur; groups (3, 4) are refused.
enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// Walks the fields of one message. Views point into the bytes given; nothing is allocated.
///
///     WireReader r(bytes, "NodeProto");
///     while (TENON_TRY(r.next())) switch (r.field()) { case 1: name = TENON_TRY(r.text()); break;
///     }
class WireReader {
 public:
  WireReader(std::string_view message, std::string_view name) : rest_(message), name_(name) {}
  /// Reads the next field; false at the end. Invalid: truncated or malformed input.
  Result<bool> next();
  int field() const { return field_; }
  WireType type() const { return type_; }
  /// The current field as bytes or an integer; invalid when the file holds another wire type there.
  Result<std::string_view> text() const;
  Result<std::int64_t> integer() const;
  Result<float> real() const;
  /// The encoded bytes of the current field's payload, whatever its type: one element of a packed
  /// list.
  std::string_view raw() const { return raw_; }

 private:
  Error bad(std::string_view what) const;
  Status wrong_type(std::string_view wanted) const;
  std::string_view rest_, name_, raw_;
  int field_ = 0;
  WireType type_ = WireType::varint;
  std::uint64_t varint_ = 0;
};

/// Takes one varint off the front of `bytes`; false when it is cut off or longer than ten bytes.
bool take_varint(std::string_view& bytes, std::uint64_t& value);

}  // namespace tenon::onnx
