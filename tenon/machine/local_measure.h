// What this host reaches, measured: matrix products, memory traffic, the cost of starting work.
#pragma once

#include <vector>

namespace tenon {

/// One measured product c[m, n] += a[m, k] * b[k, n] in fp32, all cores.
struct MeasuredMatmul {
  int m = 0, n = 0, k = 0;
  double seconds = 0;
};
/// One measured copy: bytes read and written together.
struct MeasuredCopy {
  double bytes = 0;
  double seconds = 0;
};

struct LocalMeasurement {
  std::vector<MeasuredMatmul> matmuls;
  std::vector<MeasuredCopy> copies;
  double start_seconds = 0;  // handing a piece of work to all cores and waiting for it
};

/// Runs for about `seconds` (at most a minute), best of several repetitions each.
LocalMeasurement measure_local_host(double seconds = 8);

}  // namespace tenon
