// Products and transposes of tiles against plain loops, on every instruction set that this host
// runs.
#include "tenon/codegen/tiles.h"

#include <gtest/gtest.h>

#include "tenon/codegen/kernel_cache.h"

namespace tenon::codegen {
namespace {

std::vector<Isa> runnable() {
  std::vector<Isa> out;
  for (Isa isa : {Isa::plain, Isa::avx2, Isa::avx512})
    if (isa <= host_isa()) out.push_back(isa);
  return out;
}
class TilesOnEveryIsa : public testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(Runnable, TilesOnEveryIsa, testing::ValuesIn(runnable()),
                         [](const auto& i) { return std::string(name(i.param)); });

std::vector<float> ramp(std::int64_t n) {
  std::vector<float> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 37) % 23) - 11;
  return x;
}
float at(const std::vector<float>& x, std::int64_t i) { return x[static_cast<std::size_t>(i)]; }

// Whole numbers: sums are exact in any order.
TEST_P(TilesOnEveryIsa, ProductsEqualPlainLoops) {
  for (UnitStride unit : {UnitStride::rows, UnitStride::depth})
    for (std::int64_t rows : {1, 5, 12, 31})
      for (std::int64_t depth : {0, 1, 7, 64})
        for (bool accumulates : {false, true}) {
          SCOPED_TRACE(fmt::format("{} x {}", rows, depth));
          const TileProduct tile = tile_product_for(GetParam(), unit);
          const std::int64_t panels = 2, n = panels * tile.columns(), pitch = 80;
          auto kernel = KernelCache::instance().get(tile, GetParam());
          ASSERT_TRUE(kernel.ok()) << kernel.error().text();
          const auto a = ramp(80 * 80), b = ramp(depth * n), scale = ramp(n);
          auto c = ramp(rows * n);
          const auto before = c;
          const bool by_rows = unit == UnitStride::rows;
          const TileProductArguments arguments{
              rows, depth,          panels, by_rows ? 1 : pitch, by_rows ? pitch : 1,
              n,    tile.columns(), n,      tile.columns()};
          kernel->as<TileProductFunction>()(a.data(), b.data(), c.data(),
                                            accumulates ? scale.data() : nullptr, &arguments);
          for (std::int64_t m = 0; m < rows; ++m)
            for (std::int64_t j = 0; j < n; ++j) {
              float sum = accumulates ? at(before, m * n + j) * at(scale, j) : 0;
              for (std::int64_t k = 0; k < depth; ++k)
                sum += at(a, m * arguments.a_row + k * arguments.a_depth) * at(b, k * n + j);
              ASSERT_EQ(at(c, m * n + j), sum) << m << " " << j;
            }
        }
}

TEST_P(TilesOnEveryIsa, TransposesEqualPlainLoops) {
  for (int block : {4, 8, 16})
    for (std::int64_t rows : {1, 8, 13, 19})
      for (std::int64_t columns : {1, 7, 8, 33}) {
        auto kernel = KernelCache::instance().get(TileTranspose{block, 16 / block}, GetParam());
        ASSERT_TRUE(kernel.ok()) << kernel.error().text();
        const auto from = ramp(rows * 40);
        std::vector<float> to(static_cast<std::size_t>(columns * 20), -100);
        kernel->as<TileTransposeFunction>()(from.data(), to.data(), rows, columns, 40, 20);
        for (std::int64_t i = 0; i < 20; ++i)
          for (std::int64_t j = 0; j < columns; ++j)
            ASSERT_EQ(at(to, j * 20 + i), i < rows ? at(from, i * 40 + j) : -100);
      }
}

}  // namespace
}  // namespace tenon::codegen
