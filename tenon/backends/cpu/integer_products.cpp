// Sums and corrections of byte products, as plain vector loops.
#include "tenon/backends/cpu/integer_products_internal.h"
#include "tenon/machine/host_cpu.h"

namespace tenon::backends::cpu {

// Compiled for each instruction set and chosen when the program starts.
#define TENON_EVERY_ISA __attribute__((target_clones("avx512bw", "avx2", "default")))

Verdict can_multiply_bytes() {
  const CpuFeatures& f = host_cpu().features;
  const bool wide = host_isa() >= Isa::avx512 && (f.avx512_vnni || f.amx_int8);
  if (wide || (host_isa() >= Isa::avx2 && f.avx_vnni)) return {};
  return Verdict::no("this processor multiplies bytes exactly through wider integers only");
}

TENON_EVERY_ISA static void flip(const std::uint8_t* from, std::int64_t n, std::uint8_t* to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i] ^ 0x80;
}
void shift_to_signed(const std::byte* b, bool is_unsigned, std::int64_t n, std::byte* to) {
  if (is_unsigned)
    flip(reinterpret_cast<const std::uint8_t*>(b), n, reinterpret_cast<std::uint8_t*>(to));
  else
    std::copy(b, b + n, to);
}

TENON_EVERY_ISA static std::int32_t sum_unsigned(const std::uint8_t* p, std::int64_t n) {
  std::int32_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += p[i];
  return sum;
}
TENON_EVERY_ISA static std::int32_t sum_signed(const std::int8_t* p, std::int64_t n) {
  std::int32_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += p[i];
  return sum;
}
std::int32_t sum_of_bytes(const std::byte* p, std::int64_t n, bool is_unsigned) {
  return is_unsigned ? sum_unsigned(reinterpret_cast<const std::uint8_t*>(p), n)
                     : sum_signed(reinterpret_cast<const std::int8_t*>(p), n);
}

TENON_EVERY_ISA void correct_row(std::int32_t* y, const std::int32_t* colsums,
                                 const std::int32_t* zb, std::int64_t n, std::int32_t za,
                                 std::int32_t rowsum) {
  for (std::int64_t j = 0; j < n; ++j) y[j] -= za * colsums[j] + zb[j] * rowsum;
}

TENON_EVERY_ISA void subtract(std::int32_t* y, const std::int32_t* x, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) y[j] -= x[j];
}

}  // namespace tenon::backends::cpu
