// The host's processor as a device: cores, clock and vector width give its peak rates.
#include "tenon/machine/local_probe.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tenon/machine/host_cpu.h"

namespace tenon {
namespace {

/// Clock as the kernel reports it; 2 GHz where it does not (many virtual and non-x86 hosts).
double clock_hertz() {
  std::ifstream file("/proc/cpuinfo");
  double hertz = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("cpu MHz")) continue;
    const auto colon = line.find(':');
    if (colon != std::string::npos) {
      hertz = std::max(hertz, std::atof(line.c_str() + colon + 1) * 1e6);
    }
  }
  return hertz > 0 ? hertz : 2e9;
}

/// fp32 operations of one core in one cycle: two fused multiply-adds of the widest vector.
double fp32_per_cycle(const CpuFeatures& features) {
  if (features.avx512f) return 2 * 2 * 16;
  if (features.avx2) return 2 * 2 * 8;
  return 2 * 2 * 4;
}

}  // namespace

Result<Device> probe_local_device() {
  const HostCpu& cpu = host_cpu();
  if (cpu.memory_bytes <= 0) return io_error("cannot read this host's memory size");
  Device device;
  device.name = "local";
  device.vendor = cpu.vendor;
  device.num_units = cpu.num_cores;
  const double fp32 = cpu.num_cores * clock_hertz() * fp32_per_cycle(cpu.features);
  device.flops_per_second[static_cast<int>(Precision::fp32)] = fp32;
  // Matrix tiles do 16 x 16 x 32 bf16 products in 16 cycles: 16 times a pair of vector units.
  device.flops_per_second[static_cast<int>(Precision::bf16)] =
      cpu.features.amx_bf16 ? 16 * fp32 : fp32;
  device.memory_bytes = static_cast<double>(cpu.memory_bytes);
  device.memory_bytes_per_second = std::min(8, cpu.num_cores) * 12e9;
  device.cache_bytes = static_cast<double>(cpu.l3_bytes);
  device.launch_seconds = 2e-6;
  device.watts = 10.0 * cpu.num_cores;
  device.devices_per_node = 1;
  device.node_link = {10e9, 1e-6};
  device.cluster_link = {1.25e9, 50e-6};
  device.host_link = {10e9, 1e-6};
  return device;
}

}  // namespace tenon
