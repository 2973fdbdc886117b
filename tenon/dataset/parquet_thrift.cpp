// Field headers, varints and nesting of the compact protocol; depth is bounded, and every value
// takes at least one byte, so memory is bounded by the input.
#include "tenon/dataset/parquet_thrift_internal.h"

namespace tenon::dataset {
namespace {

constexpr int kMaxDepth = 16;
enum Type {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte>& bytes) : bytes_(bytes) {}

  Result<ThriftValue> structure(int depth) {
    if (depth > kMaxDepth) return invalid("thrift: nested deeper than {}", kMaxDepth);
    ThriftValue out;
    int id = 0;
    while (true) {
      const int head = TENON_TRY(byte());
      const int type = head & 15;
      if (type == kStop) return out;
      const std::int64_t next = head >> 4 ? id + (head >> 4) : zigzag(TENON_TRY(varint()));
      if (next < 0 || next > 0x7fff) return invalid("thrift: field number {}", next);
      id = static_cast<int>(next);
      if (type == kTrue || type == kFalse)
        out.fields[id].number = type == kTrue;
      else
        out.fields[id] = TENON_TRY(value(type, depth));
    }
  }

 private:
  Result<int> byte() {
    if (bytes_.empty()) return invalid("thrift: the data are cut off");
    const int b = static_cast<int>(bytes_[0]);
    bytes_ = bytes_.subspan(1);
    return b;
  }
  Result<std::uint64_t> varint() {
    std::uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const int b = TENON_TRY(byte());
      v |= static_cast<std::uint64_t>(b & 127) << shift;
      if (b < 128) return v;
    }
    return invalid("thrift: a number of more than ten bytes");
  }
  static std::int64_t zigzag(std::uint64_t v) {
    return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
  }

  Result<ThriftValue> value(int type, int depth) {
    ThriftValue out;
    switch (type) {
      case kTrue:
      case kFalse:
      case kByte: out.number = TENON_TRY(byte()); return out;
      case kI16:
      case kI32:
      case kI64: out.number = zigzag(TENON_TRY(varint())); return out;
      case kDouble:
        if (bytes_.size() < 8) return invalid("thrift: the data are cut off");
        bytes_ = bytes_.subspan(8);  // statistics; nothing here needs them
        return out;
      case kBinary: {
        const std::uint64_t n = TENON_TRY(varint());
        if (n > bytes_.size()) return invalid("thrift: a text of {} bytes is cut off", n);
        out.text.assign(reinterpret_cast<const char*>(bytes_.data()), n);
        bytes_ = bytes_.subspan(n);
        return out;
      }
      case kList:
      case kSet: return list(depth + 1);
      case kStruct: return structure(depth + 1);
      default: return unsupported("thrift: value of type {}", type);
    }
  }
  Result<ThriftValue> list(int depth) {
    if (depth > kMaxDepth) return invalid("thrift: nested deeper than {}", kMaxDepth);
    const int head = TENON_TRY(byte());
    const std::uint64_t n =
        head >> 4 == 15 ? TENON_TRY(varint()) : static_cast<std::uint64_t>(head >> 4);
    if (n > bytes_.size()) return invalid("thrift: a list of {} values is cut off", n);
    ThriftValue out;
    for (std::uint64_t i = 0; i < n; ++i) out.items.push_back(TENON_TRY(value(head & 15, depth)));
    return out;
  }

  std::span<const std::byte>& bytes_;
};

}  // namespace

Result<ThriftValue> read_thrift_struct(std::span<const std::byte>& bytes) {
  return Reader(bytes).structure(0);
}

}  // namespace tenon::dataset
