// Varints, tags and payloads.
#include "tenon/formats/onnx/wire.h"

#include <cstring>

namespace tenon::onnx {

bool take_varint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto b = static_cast<std::uint8_t>(bytes[i]);
    value |= static_cast<std::uint64_t>(b & 0x7f) << (7 * i);
    if (b & 0x80) continue;
    bytes.remove_prefix(i + 1);
    return true;
  }
  return false;
}

Error WireReader::bad(std::string_view what) const {
  return invalid("{}: {}", name_, what)
      .with_help("the file is truncated or no ONNX model; fetch it again");
}

Result<bool> WireReader::next() {
  if (rest_.empty()) return false;
  std::uint64_t tag = 0;
  if (!take_varint(rest_, tag)) return bad("a field's tag is cut off");
  if ((tag >> 3) == 0 || (tag >> 3) > 0x1fffffff) return bad("a field has an impossible number");
  field_ = static_cast<int>(tag >> 3);
  std::size_t size = 0;
  switch (tag & 7) {
    case 0: {
      const std::string_view before = rest_;
      if (!take_varint(rest_, varint_))
        return bad(fmt::format("the integer of field {} is cut off", field_));
      raw_ = before.substr(0, before.size() - rest_.size());
      type_ = WireType::varint;
      return true;
    }
    case 1:
      size = 8;
      type_ = WireType::fixed64;
      break;
    case 5:
      size = 4;
      type_ = WireType::fixed32;
      break;
    case 2: {
      std::uint64_t length = 0;
      if (!take_varint(rest_, length))
        return bad(fmt::format("the length of field {} is cut off", field_));
      if (length > rest_.size())
        return bad(
            fmt::format("field {} claims {} bytes but {} are left", field_, length, rest_.size()));
      size = static_cast<std::size_t>(length);
      type_ = WireType::bytes;
      break;
    }
    default:
      return bad(fmt::format("field {} has wire type {}, which ONNX never uses", field_, tag & 7));
  }
  if (size > rest_.size()) return bad(fmt::format("field {} is cut off", field_));
  raw_ = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return true;
}

Status WireReader::wrong_type(std::string_view wanted) const {
  return bad(fmt::format("field {} is not {}", field_, wanted));
}

Result<std::string_view> WireReader::text() const {
  if (type_ != WireType::bytes) TENON_TRY(wrong_type("a string or message"));
  return raw_;
}

Result<std::int64_t> WireReader::integer() const {
  if (type_ != WireType::varint) TENON_TRY(wrong_type("an integer"));
  return static_cast<std::int64_t>(varint_);
}

Result<float> WireReader::real() const {
  if (type_ != WireType::fixed32) TENON_TRY(wrong_type("a float"));
  float value = 0;
  std::memcpy(&value, raw_.data(), sizeof value);
  return value;
}

}  // namespace tenon::onnx
