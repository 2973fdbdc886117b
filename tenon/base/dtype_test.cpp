// The small float codec against values worked out by hand and against the hardware's half type.
#include "tenon/base/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tenon {
namespace {

TEST(DType, NamesRoundTrip) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto d = static_cast<DType>(i);
    EXPECT_EQ(dtype_named(name(d)), d);
    EXPECT_GT(size_of(d), 0);
  }
  EXPECT_FALSE(dtype_named("float"));
}

TEST(DType, F16EqualsTheHardwareType) {
  for (unsigned b = 0; b < 65536; ++b) {
    const auto bits = static_cast<std::uint16_t>(b);
    const double v = decode_mini(bits, DType::f16);
    if (std::isnan(v)) continue;
    EXPECT_EQ(v, f16_to_float(bits));
    EXPECT_EQ(encode_mini(v, DType::f16), bits);
  }
  for (double v : {0.1, 1.0 / 3, 65519.9, 65520.0, 1e-8, 6e-8, -2.5e-5})
    EXPECT_EQ(encode_mini(v, DType::f16), float_to_f16(static_cast<float>(v))) << v;
}

TEST(DType, EverySmallFloatRoundTrips) {
  for (DType d : {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz,
                  DType::f8e8m0, DType::f4e2m1})
    for (unsigned b = 0; b < (1u << bits_of(d)); ++b) {
      const double v = decode_mini(static_cast<std::uint16_t>(b), d);
      if (std::isnan(v))
        EXPECT_TRUE(std::isnan(decode_mini(encode_mini(v, d), d)));
      else
        EXPECT_EQ(encode_mini(v, d), b) << name(d) << " " << v;
    }
}

TEST(DType, LargestValuesAndOverflow) {
  EXPECT_EQ(decode_mini(0x7e, DType::f8e4m3fn), 448);
  EXPECT_EQ(decode_mini(0x7f, DType::f8e4m3fnuz), 240);
  EXPECT_EQ(decode_mini(0x7b, DType::f8e5m2), 57344);
  EXPECT_EQ(decode_mini(7, DType::f4e2m1), 6);
  EXPECT_EQ(decode_mini(encode_mini(1e6, DType::f8e4m3fn, Overflow::saturate), DType::f8e4m3fn),
            448);
  EXPECT_TRUE(std::isnan(decode_mini(encode_mini(1e6, DType::f8e4m3fn), DType::f8e4m3fn)));
  EXPECT_TRUE(std::isinf(decode_mini(encode_mini(1e6, DType::f8e5m2), DType::f8e5m2)));
}

}  // namespace
}  // namespace tenon
