// Device presets and their TOML form.
#include "tenon/machine/device.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "tenon/base/closest.h"
#include "tenon/base/object_reader.h"
#include "tenon/machine/embedded_file.h"
#include "tenon/machine/local_probe.h"

namespace tenon {
namespace {

using nlohmann::json;
constexpr std::string_view kPrecisionNames[kNumPrecisions] = {"fp32", "tf32", "bf16",
                                                              "fp16", "fp8",  "int8"};
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string_view stem(std::string_view file) { return file.substr(0, file.rfind('.')); }

void read_link(ObjectReader& reader, const char* key, Link& link, std::vector<Error>& problems) {
  const json* table = reader.child(key);
  if (table == nullptr) return;
  ObjectReader fields(*table, reader.where() + ": " + key, problems);
  double gbytes = link.bytes_per_second / 1e9, microseconds = link.latency_seconds * 1e6;
  fields.number("gbytes_per_second", gbytes, 1e-6);
  fields.number("microseconds", microseconds);
  fields.finish();
  link = {gbytes * 1e9, microseconds * 1e-6};
}

void read_rates(ObjectReader& reader, Device& device, std::vector<Error>& problems) {
  reader.require("teraflops");
  const json* table = reader.child("teraflops");
  if (table == nullptr) return;
  ObjectReader rates(*table, reader.where() + ": teraflops", problems);
  double best = 0;
  for (int i = 0; i < kNumPrecisions; ++i) {
    double teraflops = 0;
    rates.number(kPrecisionNames[i].data(), teraflops);
    device.flops_per_second[i] = teraflops * 1e12;
    best = std::max(best, teraflops);
  }
  rates.finish();
  if (best <= 0) rates.problem(invalid("no precision has a rate above zero"));
}

void read_memories(ObjectReader& reader, Device& device) {
  double memory_gib = 0, gbytes_per_second = 0, cache_mib = 0, host_gib = 0, microseconds = 5;
  reader.require("memory_gib");
  reader.require("memory_gbytes_per_second");
  reader.number("memory_gib", memory_gib, 1e-3);
  reader.number("memory_gbytes_per_second", gbytes_per_second, 1e-3);
  reader.number("cache_mib", cache_mib);
  reader.number("host_gib_per_device", host_gib);
  reader.number("launch_microseconds", microseconds);
  device.memory_bytes = memory_gib * kGiB;
  device.memory_bytes_per_second = gbytes_per_second * 1e9;
  device.cache_bytes = cache_mib * 1024 * 1024;
  device.host_memory_bytes = host_gib * kGiB;
  device.launch_seconds = microseconds * 1e-6;
}

json link_json(const Link& link) {
  return {{"gbytes_per_second", link.bytes_per_second / 1e9},
          {"microseconds", link.latency_seconds * 1e6}};
}

}  // namespace

std::string_view name(Precision precision) { return kPrecisionNames[static_cast<int>(precision)]; }

std::optional<Precision> precision_named(std::string_view text) {
  for (int i = 0; i < kNumPrecisions; ++i) {
    if (kPrecisionNames[i] == text) return static_cast<Precision>(i);
  }
  return std::nullopt;
}

double Device::peak(Precision precision) const {
  const auto rate = [this](Precision p) { return flops_per_second[static_cast<int>(p)]; };
  if (rate(precision) > 0) return rate(precision);
  // fp8 falls back to bf16, bf16 and fp16 to each other, all to fp32: the way software widens.
  for (Precision wider : {Precision::bf16, Precision::fp16, Precision::tf32, Precision::fp32}) {
    if (rate(wider) > 0) return rate(wider);
  }
  return rate(Precision::int8);
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const auto& file : machine_files()) names.emplace_back(stem(file.name));
  std::sort(names.begin(), names.end());
  return names;
}

Result<Device> device_named(std::string_view name) {
  if (name == "local") return probe_local_device();
  for (const auto& file : machine_files()) {
    if (lower(stem(file.name)) == lower(name)) return parse_device(file.text, file.name);
  }
  auto known = device_names();
  known.emplace_back("local");
  std::string list;
  for (const auto& k : known) list += (list.empty() ? "" : ", ") + k;
  std::string hint = did_you_mean(name, known);
  for (auto k = known.rbegin(); k != known.rend(); ++k) {  // H100 means H100-SXM, not H200
    if (lower(*k).starts_with(lower(name))) hint = "did you mean '" + *k + "'?";
  }
  return not_found("there is no device '{}'", name)
      .with_help((hint.empty() ? "" : hint + " ") + "presets: " + list +
                 "; or the path of a device TOML");
}

Result<Device> read_device(const json& table, std::string_view where) {
  std::vector<Error> problems;
  ObjectReader reader(table, std::string(where), problems);
  Device device;
  device.name = std::string(where);
  reader.text("name", device.name);
  reader.text("vendor", device.vendor);
  read_rates(reader, device, problems);
  read_memories(reader, device);
  reader.integer("units", device.num_units);
  reader.number("sustained_share", device.sustained, 0.05, 1.0);
  reader.number("watts", device.watts);
  reader.number("dollars_per_hour", device.dollars_per_hour);
  reader.integer("devices_per_node", device.devices_per_node);
  reader.integer("link_domain", device.link_domain, 0);
  device.node_link = {32e9, 10e-6};  // PCIe 4 x16: what a node has when its sheet names nothing
  device.cluster_link = {12.5e9, 10e-6};
  device.host_link = {25e9, 10e-6};
  const json* links = reader.child("link");
  if (links != nullptr) {
    ObjectReader levels(*links, std::string(where) + ": link", problems);
    read_link(levels, "node", device.node_link, problems);
    read_link(levels, "cluster", device.cluster_link, problems);
    read_link(levels, "host", device.host_link, problems);
    levels.finish();
  }
  reader.finish();
  if (!problems.empty()) return all_of(std::move(problems));
  return device;
}

Result<Device> parse_device(std::string_view text, std::string_view where) {
  return read_device(TENON_TRY(parse_config(text, where)), where);
}

nlohmann::ordered_json to_json(const Device& device) {
  nlohmann::ordered_json rates = nlohmann::ordered_json::object();
  for (int i = 0; i < kNumPrecisions; ++i) {
    if (device.flops_per_second[i] > 0) {
      rates[std::string(kPrecisionNames[i])] = device.flops_per_second[i] / 1e12;
    }
  }
  return {{"name", device.name},
          {"vendor", device.vendor},
          {"teraflops", rates},
          {"memory_gib", device.memory_bytes / kGiB},
          {"memory_gbytes_per_second", device.memory_bytes_per_second / 1e9},
          {"cache_mib", device.cache_bytes / 1024 / 1024},
          {"units", device.num_units},
          {"sustained_share", device.sustained},
          {"launch_microseconds", device.launch_seconds * 1e6},
          {"watts", device.watts},
          {"dollars_per_hour", device.dollars_per_hour},
          {"host_gib_per_device", device.host_memory_bytes / kGiB},
          {"devices_per_node", device.devices_per_node},
          {"link_domain", device.link_domain},
          {"link",
           {{"node", link_json(device.node_link)},
            {"cluster", link_json(device.cluster_link)},
            {"host", link_json(device.host_link)}}}};
}

}  // namespace tenon
