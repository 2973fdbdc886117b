#include "tenon/machine/host_cpu.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tenon {
namespace {

TEST(HostCpu, AgreesWithTheKernelOnFeatures) {
  std::ifstream file("/proc/cpuinfo");
  std::string line, flags;
  while (std::getline(file, line)) {
    if (line.starts_with("flags")) flags = line + " ";
  }
  if (flags.empty()) GTEST_SKIP() << "no flags line in /proc/cpuinfo";
  for (const char* flag : {"avx2", "fma", "avx512f", "avx512bw", "avx512_bf16", "amx_tile"}) {
    bool mine = false;
    for (const std::string& feature : feature_names(host_cpu().features)) mine |= feature == flag;
    EXPECT_EQ(mine, flags.find(std::string(" ") + flag + " ") != std::string::npos) << flag;
  }
}

TEST(HostCpu, KnowsCoresAndMemory) {
  EXPECT_GE(host_cpu().num_cores, 1);
  EXPECT_GT(host_cpu().memory_bytes, 1 << 20);
  EXPECT_FALSE(host_cpu().model.empty());
}

TEST(CodePaths, NeedEveryFeatureOfTheirSet) {
  CpuFeatures features;
  features.avx2 = features.fma = true;
  auto paths = code_paths(features, Isa::amx);
  ASSERT_EQ(paths.size(), 4u);
  EXPECT_TRUE(paths[0].used);
  EXPECT_FALSE(paths[1].used);
  EXPECT_EQ(paths[1].why, "the processor or system lacks f16c");
  features.f16c = true;
  EXPECT_TRUE(code_paths(features, Isa::amx)[1].used);
}

TEST(CodePaths, AreMaskedByALimit) {
  CpuFeatures features;
  features.avx2 = features.fma = features.f16c = true;
  const auto paths = code_paths(features, Isa::plain);
  EXPECT_FALSE(paths[1].used);
  EXPECT_EQ(paths[1].why, "TENON_ISA=plain forbids it");
}

TEST(CodePaths, LimitComesFromTheEnvironment) {
  setenv("TENON_ISA", "plain", 1);
  EXPECT_EQ(host_isa(), Isa::plain);
  setenv("TENON_ISA", "avx2", 1);
  EXPECT_EQ(isa_limit(), Isa::avx2);
  unsetenv("TENON_ISA");
  EXPECT_EQ(isa_limit(), Isa::amx);
}

}  // namespace
}  // namespace tenon
