// One accelerator as its data sheet describes it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"

namespace tenon {

/// A link as one device sees it: bytes per second one way, and the latency of one hop.
struct Link {
  double bytes_per_second = 0;
  double latency_seconds = 0;
  friend bool operator==(const Link&, const Link&) = default;
};

/// Number formats that have their own arithmetic rate.
enum class Precision { fp32, tf32, bf16, fp16, fp8, int8 };
inline constexpr int kNumPrecisions = 6;
std::string_view name(Precision precision);
std::optional<Precision> precision_named(std::string_view text);

/// Data sheet values; rates are dense peaks. How much of them software reaches is a calibration.
struct Device {
  std::string name;
  std::string vendor;
  double flops_per_second[kNumPrecisions] = {};  // 0: the device lacks this precision
  double sustained =
      1.0;  // share of the peak that power and clocks sustain in long matrix products
  double memory_bytes = 0;
  double memory_bytes_per_second = 0;
  double cache_bytes = 0;        // last-level on-chip cache
  int num_units = 1;             // streaming multiprocessors, compute units, AI cores, CPU cores
  double launch_seconds = 5e-6;  // least time between two dependent kernels
  double watts = 0;              // board power under load
  double dollars_per_hour = 0;   // list price of one device, 0 where none is given
  double host_memory_bytes = 0;  // host memory per device, for offload
  Link host_link;
  int devices_per_node = 8;
  int link_domain = 0;  // devices joined at node speed across nodes (GB200: 72); 0: the node
  Link node_link;       // the reference node's links
  Link cluster_link;    // the usual fabric, per device

  /// Dense peak in `precision`; where the device lacks it, of the next wider format it has.
  double peak(Precision precision) const;
  bool has(Precision precision) const { return flops_per_second[static_cast<int>(precision)] > 0; }
};

/// The device of a preset name (any case); the error names the nearest preset. "local" probes this
/// host.
Result<Device> device_named(std::string_view name);
/// Presets in alphabetical order.
std::vector<std::string> device_names();
/// A device from a parsed TOML or JSON table; needs `teraflops`, `memory_gib`,
/// `memory_gbytes_per_second`.
Result<Device> read_device(const nlohmann::json& table, std::string_view where);
Result<Device> parse_device(std::string_view text, std::string_view where);
nlohmann::ordered_json to_json(const Device& device);

}  // namespace tenon
