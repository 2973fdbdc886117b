#include "tenon/machine/host_cpu.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tenon {
namespace {

constexpr std::array<Isa, 4> kIsas = {Isa::plain, Isa::avx2, Isa::avx512, Isa::amx};

struct FeatureRow {
  std::string_view name;
  bool CpuFeatures::* member;
};
constexpr std::array kFeatureRows = {
    FeatureRow{"sse4.1", &CpuFeatures::sse41},
    FeatureRow{"avx", &CpuFeatures::avx},
    FeatureRow{"f16c", &CpuFeatures::f16c},
    FeatureRow{"fma", &CpuFeatures::fma},
    FeatureRow{"avx2", &CpuFeatures::avx2},
    FeatureRow{"avx_vnni", &CpuFeatures::avx_vnni},
    FeatureRow{"avx512f", &CpuFeatures::avx512f},
    FeatureRow{"avx512bw", &CpuFeatures::avx512bw},
    FeatureRow{"avx512dq", &CpuFeatures::avx512dq},
    FeatureRow{"avx512vl", &CpuFeatures::avx512vl},
    FeatureRow{"avx512_vnni", &CpuFeatures::avx512_vnni},
    FeatureRow{"avx512_bf16", &CpuFeatures::avx512_bf16},
    FeatureRow{"avx512_fp16", &CpuFeatures::avx512_fp16},
    FeatureRow{"amx_tile", &CpuFeatures::amx_tile},
    FeatureRow{"amx_bf16", &CpuFeatures::amx_bf16},
    FeatureRow{"amx_int8", &CpuFeatures::amx_int8},
    FeatureRow{"amx_fp16", &CpuFeatures::amx_fp16},
};

#if defined(__x86_64__)

/// eax, ebx, ecx, edx of a cpuid leaf; zeros where the processor has no such leaf.
std::array<unsigned, 4> cpuid(unsigned leaf, unsigned subleaf) {
  std::array<unsigned, 4> r{};
  if (!__get_cpuid_count(leaf, subleaf, &r[0], &r[1], &r[2], &r[3])) return {};
  return r;
}

/// Which register files the operating system saves: bit 2 AVX, 5-7 AVX-512, 17-18 AMX (Intel
/// SDM 13.3).
std::uint64_t saved_registers() {
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

/// Linux hands out the tile registers only to a process that asks for them.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool bit(unsigned word, int index) { return ((word >> index) & 1u) != 0; }

void read_wide_features(CpuFeatures& f, std::uint64_t saved) {
  const auto seven = cpuid(7, 0), seven_one = cpuid(7, 1);
  f.avx2 = bit(seven[1], 5);
  f.avx_vnni = bit(seven_one[0], 4);
  if ((saved & 0xE6) == 0xE6) {
    f.avx512f = bit(seven[1], 16);
    f.avx512dq = bit(seven[1], 17);
    f.avx512bw = bit(seven[1], 30);
    f.avx512vl = bit(seven[1], 31);
    f.avx512_vnni = bit(seven[2], 11);
    f.avx512_bf16 = bit(seven_one[0], 5);
    f.avx512_fp16 = bit(seven[3], 23);
  }
  if ((saved & 0x60000) == 0x60000 && bit(seven[3], 24) && may_use_tiles()) {
    f.amx_tile = true;
    f.amx_bf16 = bit(seven[3], 22);
    f.amx_int8 = bit(seven[3], 25);
    f.amx_fp16 = bit(seven_one[0], 21);
  }
}

CpuFeatures read_features() {
  CpuFeatures f;
  const auto one = cpuid(1, 0);
  f.sse41 = bit(one[2], 19);
  const bool has_xgetbv = bit(one[2], 27);
  const std::uint64_t saved = has_xgetbv ? saved_registers() : 0;
  if ((saved & 6) == 6) {
    f.avx = bit(one[2], 28);
    f.fma = bit(one[2], 12);
    f.f16c = bit(one[2], 29);
    read_wide_features(f, saved);
  }
  return f;
}

std::string read_vendor() {
  const auto r = cpuid(0, 0);
  std::string vendor(12, '\0');
  const std::array<unsigned, 3> words = {r[1], r[3], r[2]};
  std::memcpy(vendor.data(), words.data(), 12);
  return vendor;
}

std::string read_model() {
  std::string model;
  for (unsigned leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    const auto r = cpuid(leaf, 0);
    model.append(reinterpret_cast<const char*>(r.data()), 16);
  }
  model = model.c_str();  // the text ends at the first NUL
  const auto first = model.find_first_not_of(' ');
  if (first == std::string::npos) return "unknown";
  return model.substr(first, model.find_last_not_of(' ') - first + 1);
}

#else

CpuFeatures read_features() { return {}; }
std::string read_vendor() { return "unknown"; }
std::string read_model() { return "unknown"; }

#endif

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set);
}

std::int64_t cache_bytes(int level_name) { return std::max(0L, sysconf(level_name)); }

HostCpu probe() {
  utsname system{};
  HostCpu cpu{.model = read_model(), .vendor = read_vendor(), .features = read_features()};
  cpu.architecture = uname(&system) == 0 ? system.machine : "unknown";
  cpu.num_cores = usable_cores();
  cpu.memory_bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  cpu.l1_data_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE);
  cpu.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
  cpu.l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE);
  return cpu;
}

/// The first feature that a path needs and the processor lacks.
std::optional<std::string_view> missing_feature(Isa isa, const CpuFeatures& f) {
  struct Need {
    Isa isa;
    std::string_view name;
    bool there;
  };
  const std::array needs = {
      Need{Isa::avx2, "avx2", f.avx2},           Need{Isa::avx2, "fma", f.fma},
      Need{Isa::avx2, "f16c", f.f16c},           Need{Isa::avx512, "avx512f", f.avx512f},
      Need{Isa::avx512, "avx512bw", f.avx512bw}, Need{Isa::avx512, "avx512dq", f.avx512dq},
      Need{Isa::avx512, "avx512vl", f.avx512vl}, Need{Isa::amx, "amx_tile", f.amx_tile},
      Need{Isa::amx, "amx_bf16", f.amx_bf16},    Need{Isa::amx, "amx_int8", f.amx_int8}};
  for (const Need& need : needs) {
    if (need.isa <= isa && !need.there) return need.name;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::plain: return "plain";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    case Isa::amx: return "amx";
  }
  return "unknown";
}

const HostCpu& host_cpu() {
  static const HostCpu cpu = probe();
  return cpu;
}

std::vector<std::string> feature_names(const CpuFeatures& features) {
  std::vector<std::string> names;
  for (const FeatureRow& row : kFeatureRows) {
    if (features.*row.member) names.emplace_back(row.name);
  }
  return names;
}

std::vector<CodePath> code_paths(const CpuFeatures& features, Isa limit) {
  std::vector<CodePath> paths;
  for (const Isa isa : kIsas) {
    if (const auto lacking = missing_feature(isa, features)) {
      paths.push_back({isa, false, fmt::format("the processor or system lacks {}", *lacking)});
    } else if (isa > limit) {
      paths.push_back({isa, false, fmt::format("TENON_ISA={} forbids it", name(limit))});
    } else {
      paths.push_back(
          {isa, true, isa == Isa::plain ? "always there" : "all its features are there"});
    }
  }
  return paths;
}

Isa isa_limit() {
  const char* wanted = std::getenv("TENON_ISA");
  for (const Isa isa : kIsas) {
    if (wanted && name(isa) == wanted) return isa;
  }
  return Isa::amx;
}

Isa host_isa() {
  Isa best = Isa::plain;
  for (const CodePath& path : code_paths(host_cpu().features, isa_limit())) {
    if (path.used) best = path.isa;
  }
  return best;
}

}  // namespace tenon
