// Event files against values that TensorFlow's own tools give.
#include "tenon/train/events.h"

#include <gtest/gtest.h>

namespace tenon::train {
namespace {

std::string hex(std::string_view bytes) {
  std::string out;
  for (unsigned char c : bytes)
    out += "0123456789abcdef"[c >> 4], out += "0123456789abcdef"[c & 15];
  return out;
}

// RFC 3720, appendix B.4.
TEST(Events, ChecksumIsCastagnolis) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
}

TEST(Events, RecordHoldsLengthAndBothChecksums) {
  const std::string record = tf_record("abc");
  ASSERT_EQ(record.size(), 8u + 4 + 3 + 4);
  EXPECT_EQ(hex(record.substr(0, 8)), "0300000000000000");
  EXPECT_EQ(record.substr(12, 3), "abc");
}

// wall_time = 1 (tag 0x09), step = 300 (0x10), summary (0x2a) with one value (0x0a): tag (0x0a) and
// simple_value (0x15) 0.5f.
TEST(Events, ScalarsHaveTheWireForm) {
  const std::pair<std::string, double> scalars[] = {{"loss", 0.5}};
  EXPECT_EQ(hex(scalar_event(1, 300, scalars)),
            "09000000000000f03f"
            "10ac02"
            "2a0d"
            "0a0b"
            "0a046c6f7373"
            "150000003f");
  EXPECT_EQ(hex(version_event(1)).substr(0, 18 + 4),
            "09000000000000f03f"
            "1a0d");
}

}  // namespace
}  // namespace tenon::train
