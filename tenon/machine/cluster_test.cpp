// Cluster files: presets, overrides, levels, and one clear answer to bad input.
#include "tenon/machine/cluster.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tenon {
namespace {

TEST(Device, EveryPresetIsPlausible) {
  ASSERT_GE(device_names().size(), 9u);
  for (const auto& name : device_names()) {
    auto device = device_named(name);
    ASSERT_TRUE(device.ok()) << device.error().text();
    EXPECT_EQ(device->name, name);
    EXPECT_GT(device->peak(Precision::bf16), 1e13) << name;
    EXPECT_GT(device->memory_bytes, 16e9) << name;
    EXPECT_GT(device->node_link.bytes_per_second, device->cluster_link.bytes_per_second) << name;
  }
}

TEST(Device, DataSheetRates) {
  EXPECT_DOUBLE_EQ(device_named("A100-80G")->peak(Precision::bf16), 312e12);
  EXPECT_DOUBLE_EQ(device_named("V100")->peak(Precision::bf16), 125e12);  // falls back to fp16
  EXPECT_EQ(device_named("H100").error().help.substr(0, 24), "did you mean 'H100-SXM'?");
  EXPECT_FALSE(device_named("A100-80G")->has(Precision::fp8));
}

TEST(Device, LocalHostIsProbed) {
  auto local = device_named("local");
  ASSERT_TRUE(local.ok());
  EXPECT_GE(local->num_units, 1);
  EXPECT_GT(local->peak(Precision::fp32), 1e9);
}

TEST(Cluster, LinksMayBeGivenEitherHalfAlone) {
  auto cluster = parse_cluster(
      "[[node_group]]\ndevice = \"A100-80G\"\ncount = 8\nnodes = 64\n"
      "[link.cluster]\ngbytes_per_second = 12.5\n[link.node]\nmicroseconds = 9\n",
      "c.toml");
  ASSERT_TRUE(cluster.ok()) << cluster.error().text();
  EXPECT_EQ(cluster->num_devices(), 512);
  const auto levels = cluster->levels();
  ASSERT_EQ(levels.size(), 2u);
  EXPECT_EQ(levels[0].devices, 8);
  EXPECT_EQ(levels[0].link, (Link{300e9, 9 * 1e-6}));
  EXPECT_EQ(levels[1].devices, 512);
  EXPECT_DOUBLE_EQ(levels[1].link.bytes_per_second, 12.5e9);
  EXPECT_GT(levels[1].link.latency_seconds, 0);
}

TEST(Cluster, LinkDomainsSpanNodes) {
  auto cluster = parse_cluster("[[node_group]]\ndevice = \"GB200\"\ncount = 4\nnodes = 36\n", "c");
  ASSERT_TRUE(cluster.ok());
  EXPECT_EQ(cluster->levels()[0].devices, 72);
  EXPECT_EQ(cluster->levels()[1].devices, 144);
}

TEST(Cluster, PodsAndMixedGroups) {
  auto cluster = parse_cluster(
      "[[node_group]]\ndevice = \"A100-80G\"\nnodes = 8\n[[node_group]]\ndevice = \"H100-SXM\"\n"
      "nodes = 4\n[topology]\nnodes_per_pod = 4\npod_oversubscription = 2.0\n",
      "c.toml");
  ASSERT_TRUE(cluster.ok());
  EXPECT_FALSE(cluster->is_homogeneous());
  EXPECT_EQ(cluster->group_of(63), 0u);
  EXPECT_EQ(cluster->group_of(64), 1u);
  const auto levels = cluster->levels(1);
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_EQ(levels[1].name, "pod");
  EXPECT_DOUBLE_EQ(levels[2].link.bytes_per_second, 12.5e9);  // the A100 fabric, halved
}

TEST(Cluster, ReportsAllProblems) {
  auto bad = parse_cluster(
      "[[node_group]]\ndevice = \"A100-80\"\ncount = 0\nnodez = 2\n[link.node]\nspeed = 3\n",
      "c.toml");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().others.size(), 3u);
  EXPECT_FALSE(parse_cluster("name = \"none\"\n", "c.toml").ok());
  EXPECT_FALSE(uniform_cluster("H100-SXM", 0).ok());
  EXPECT_FALSE(load_cluster("nowhere.toml").ok());
}

TEST(Cluster, PresetNamesCarryACount) {
  EXPECT_EQ(load_cluster("H100-SXM:64")->num_devices(), 64);
  EXPECT_EQ(load_cluster("H100-SXM x16")->num_devices(), 16);
  EXPECT_EQ(load_cluster("MI300X")->num_devices(), 8);
  EXPECT_EQ(uniform_cluster("A100-80G", 4)->groups[0].count, 4);
  EXPECT_FALSE(load_cluster("H100-SXM:12").ok());
}

TEST(Cluster, JsonReadsBack) {
  auto cluster = load_cluster("GB200:144");
  ASSERT_TRUE(cluster.ok());
  auto again = parse_cluster(to_json(*cluster).dump(), "again");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(to_json(*again).dump(), to_json(*cluster).dump());
  EXPECT_EQ(again->levels()[1].link, cluster->levels()[1].link);
}

}  // namespace
}  // namespace tenon
