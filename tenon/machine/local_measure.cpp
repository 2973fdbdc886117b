// Micro-benchmarks of the local host.
//
// c[m, n] += a[m, k] * b[k, n]: rows of c stay in registers by the compiler's vectorisation, b is
// walked in blocks that stay in cache. A vendor library does better by a constant factor; what is
// measured is what plain compiled loops reach, which is what the planner says it is.
#include "tenon/machine/local_measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "tenon/base/thread_pool.h"
#include "tenon/machine/host_cpu.h"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Rows [begin, end) of the product; eight rows share each pass over b.
template <int kRows>
inline __attribute__((always_inline)) void rows_of(const float* a, const float* b, float* c, int n,
                                                   int k, std::int64_t row) {
  constexpr int kBlock = 64;
  for (int k0 = 0; k0 < k; k0 += kBlock) {
    const int k1 = std::min(k, k0 + kBlock);
    for (int p = k0; p < k1; ++p) {
      const float* line = b + std::int64_t{p} * n;
      for (int r = 0; r < kRows; ++r) {
        const float factor = a[(row + r) * k + p];
        float* out = c + (row + r) * n;
        for (int j = 0; j < n; ++j) out[j] += factor * line[j];
      }
    }
  }
}

using RowsFunction = void (*)(const float*, const float*, float*, int, int, std::int64_t);

void rows_plain(const float* a, const float* b, float* c, int n, int k, std::int64_t row) {
  rows_of<4>(a, b, c, n, k, row);
}
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void rows_avx2(const float* a, const float* b, float* c, int n,
                                                   int k, std::int64_t row) {
  rows_of<4>(a, b, c, n, k, row);
}
__attribute__((target("avx512f"), min_vector_width(512))) void rows_avx512(const float* a,
                                                                           const float* b, float* c,
                                                                           int n, int k,
                                                                           std::int64_t row) {
  rows_of<4>(a, b, c, n, k, row);
}
#endif

RowsFunction best_rows() {
#if defined(__x86_64__)
  if (host_isa() >= Isa::avx512) return rows_avx512;
  if (host_isa() >= Isa::avx2) return rows_avx2;
#endif
  return rows_plain;
}

/// The shortest of repetitions that together take about `budget` seconds, at least two.
template <class Work>
double best_of(double budget, Work work) {
  double best = 1e300, spent = 0;
  for (int i = 0; i < 2 || (spent < budget && i < 1000); ++i) {
    const auto start = Clock::now();
    work();
    const double taken = since(start);
    best = std::min(best, taken), spent += taken;
  }
  return best;
}

MeasuredMatmul measure_matmul(ThreadPool& pool, int m, int n, int k, double budget) {
  const RowsFunction rows = best_rows();
  std::vector<float> a(std::size_t(m) * k, 0.5f), b(std::size_t(k) * n, 0.25f),
      c(std::size_t(m) * n);
  const double seconds = best_of(budget, [&] {
    pool.parallel_for(0, m / 4, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t group = begin; group < end; ++group) {
        rows(a.data(), b.data(), c.data(), n, k, 4 * group);
      }
    });
  });
  return {m, n, k, seconds};
}

MeasuredCopy measure_copy(ThreadPool& pool, std::size_t bytes, double budget) {
  std::vector<char> from(bytes, 1), to(bytes, 2);
  const double seconds = best_of(budget, [&] {
    pool.parallel_for(0, std::int64_t(bytes), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to.data() + begin, from.data() + begin, std::size_t(end - begin));
    });
  });
  return {2.0 * double(bytes), seconds};
}

}  // namespace

LocalMeasurement measure_local_host(double seconds) {
  const double each = std::clamp(seconds, 0.1, 60.0) / 8;
  ThreadPool pool(host_cpu().num_cores);
  LocalMeasurement result;
  for (auto [m, n, k] : {std::tuple{128, 128, 128},
                         {256, 256, 256},
                         {512, 512, 512},
                         {1024, 512, 512},
                         {512, 1024, 1024}}) {
    result.matmuls.push_back(measure_matmul(pool, m, n, k, each));
  }
  for (std::size_t mib : {32, 128}) {
    result.copies.push_back(measure_copy(pool, mib * 1024 * 1024, each));
  }
  result.start_seconds = best_of(each / 2, [&] {
    pool.parallel_for(0, pool.threads(), 1, [](std::int64_t, std::int64_t) {});
  });
  return result;
}

}  // namespace tenon
