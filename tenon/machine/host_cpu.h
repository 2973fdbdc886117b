// The processor that this process runs on: what it is, what it can do, and which kernels that
// allows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// Instruction sets that kernels come in, each including the ones before it.
/// plain: x86-64 baseline (SSE2) or any other processor; avx2: with FMA and F16C;
/// avx512: F, BW, DQ and VL; amx: tiles with bf16 and int8.
enum class Isa { plain, avx2, avx512, amx };
std::string_view name(Isa isa);

/// The features that matter to kernels. Each is true only if the operating system saves its
/// registers.
struct CpuFeatures {
  bool sse41 = false, avx = false, f16c = false, fma = false, avx2 = false, avx_vnni = false;
  bool avx512f = false, avx512bw = false, avx512dq = false, avx512vl = false;
  bool avx512_vnni = false, avx512_bf16 = false, avx512_fp16 = false;
  bool amx_tile = false, amx_bf16 = false, amx_int8 = false, amx_fp16 = false;
};

struct HostCpu {
  std::string model;   ///< as the processor names itself
  std::string vendor;  ///< "GenuineIntel", "AuthenticAMD", ...
  std::string architecture;
  int num_cores = 1;  ///< logical ones that this process may use
  std::int64_t memory_bytes = 0;
  std::int64_t l1_data_bytes = 0, l2_bytes = 0, l3_bytes = 0;  ///< 0 where unknown
  CpuFeatures features;
};

/// Probes once and remembers.
const HostCpu& host_cpu();

/// Names of the features that are there, in a fixed order.
std::vector<std::string> feature_names(const CpuFeatures& features);

/// One code path, whether this host uses it, and the reason.
struct CodePath {
  Isa isa;
  bool used;
  std::string why;
};

/// Every path, plainest first. `limit` is the most that may be used (TENON_ISA), for tests by
/// masking.
std::vector<CodePath> code_paths(const CpuFeatures& features, Isa limit);

/// The ceiling that the environment variable TENON_ISA (plain, avx2, avx512, amx) sets; amx when
/// unset or not one of these.
Isa isa_limit();

/// The best path of this host under `isa_limit()`.
Isa host_isa();

}  // namespace tenon
