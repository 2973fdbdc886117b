#include "tenon/base/closest.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tenon {

std::size_t edit_distance(std::string_view from, std::string_view to) {
  // Three rows of the table of optimal string alignment are enough: a swap reaches two rows back.
  std::vector<std::size_t> before(to.size() + 1), previous(to.size() + 1), row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t change = previous[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, row);
  }
  return previous[to.size()];
}

std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates) {
  const std::string* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) best = &candidate, best_distance = distance;
  }
  if (!best) return std::nullopt;
  return *best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const auto found = closest(word, candidates);
  return found ? fmt::format("did you mean '{}'?", *found) : std::string();
}

}  // namespace tenon
