// Greedy placement of lifetimes into one arena.
#include "tenon/runtime/arena.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace tenon {
namespace {

constexpr std::int64_t kAlignment = 64;
std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::int64_t live_peak(const std::vector<Lifetime>& all) {
  std::map<int, std::int64_t> change;  // step -> bytes that appear minus those that left before it
  for (const Lifetime& l : all) {
    change[l.first] += aligned(l.bytes);
    change[l.last + 1] -= aligned(l.bytes);
  }
  std::int64_t now = 0, peak = 0;
  for (const auto& [step, bytes] : change) peak = std::max(peak, now += bytes);
  return peak;
}

bool overlap(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

// Places buffers in `order`, each in the tightest gap between those alive with it.
ArenaPlan place(const std::vector<Lifetime>& all, const std::vector<std::size_t>& order) {
  ArenaPlan plan;
  plan.offsets.assign(all.size(), 0);
  std::vector<std::size_t> placed;  // sorted by offset
  for (std::size_t i : order) {
    const std::int64_t need = aligned(all[i].bytes);
    if (need == 0) continue;
    std::int64_t best = -1, best_gap = std::numeric_limits<std::int64_t>::max(), end = 0;
    for (std::size_t j : placed) {
      if (!overlap(all[i], all[j])) continue;
      const std::int64_t gap = plan.offsets[j] - end;
      if (gap >= need && gap < best_gap) best = end, best_gap = gap;
      end = std::max(end, plan.offsets[j] + aligned(all[j].bytes));
    }
    plan.offsets[i] = best >= 0 ? best : end;
    plan.bytes = std::max(plan.bytes, plan.offsets[i] + need);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](std::size_t a, std::size_t b) {
                                     return plan.offsets[a] < plan.offsets[b];
                                   }),
                  i);
  }
  return plan;
}

}  // namespace

ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  auto by_size = order;
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
    return lifetimes[a].bytes > lifetimes[b].bytes;
  });
  ArenaPlan best = place(lifetimes, by_size);
  const std::int64_t bound = live_peak(lifetimes);
  if (best.bytes > bound) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return lifetimes[a].first < lifetimes[b].first;
    });
    if (ArenaPlan other = place(lifetimes, order); other.bytes < best.bytes)
      best = std::move(other);
  }
  best.lower_bound = bound;
  return best;
}

}  // namespace tenon
