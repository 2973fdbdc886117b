// What products of bytes share: the way of u8 into s8, sums, and which processors are exact.
#pragma once

#include "tenon/backends/cpu/onednn_internal.h"

namespace tenon::backends::cpu {

/// Whether oneDNN's byte products are exact here: without VNNI or AMX pairs saturate in 16 bits.
Verdict can_multiply_bytes();

/// b - 128 for u8 (`is_unsigned`), a copy for i8.
void shift_to_signed(const std::byte* b, bool is_unsigned, std::int64_t n, std::byte* to);
inline std::int32_t byte_at(const std::byte* p, std::int64_t i, bool is_unsigned) {
  return is_unsigned ? static_cast<std::int32_t>(reinterpret_cast<const std::uint8_t*>(p)[i])
                     : static_cast<std::int32_t>(reinterpret_cast<const std::int8_t*>(p)[i]);
}
std::int32_t sum_of_bytes(const std::byte* p, std::int64_t n, bool is_unsigned);
/// y[j] -= za * colsums[j] + zb[j] * rowsum
void correct_row(std::int32_t* y, const std::int32_t* colsums, const std::int32_t* zb,
                 std::int64_t n, std::int32_t za, std::int32_t rowsum);

/// y[j] -= x[j]
void subtract(std::int32_t* y, const std::int32_t* x, std::int64_t n);

}  // namespace tenon::backends::cpu
