// Regions by flood fill; only the ends of each region's rows matter for its hull.
#include "tenon/dataset/text_boxes.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tenon::dataset {
namespace {

constexpr float kSmallestSide = 3;  // pixels of the map; thinner regions are noise

struct Grid {
  std::span<const float> map;
  int width, height;
  float threshold;
  std::vector<bool> seen;
  std::size_t at(int x, int y) const { return static_cast<std::size_t>(y) * width + x; }
  bool open(int x, int y) const {
    return x >= 0 && y >= 0 && x < width && y < height && !seen[at(x, y)] &&
           map[at(x, y)] > threshold;
  }
};

// The leftmost and the rightmost pixel of every row of the region around (x, y).
std::vector<Point> take_region(Grid& g, int x, int y) {
  std::map<int, std::pair<int, int>> rows;
  std::vector<std::pair<int, int>> stack = {{x, y}};
  g.seen[g.at(x, y)] = true;
  while (!stack.empty()) {
    const auto [px, py] = stack.back();
    stack.pop_back();
    auto [row, fresh] = rows.try_emplace(py, px, px);
    row->second = {std::min(row->second.first, px), std::max(row->second.second, px)};
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx)
        if (g.open(px + dx, py + dy)) {
          g.seen[g.at(px + dx, py + dy)] = true;
          stack.emplace_back(px + dx, py + dy);
        }
  }
  std::vector<Point> ends;
  for (const auto& [row, span] : rows) {
    ends.push_back({static_cast<float>(span.first), static_cast<float>(row)});
    ends.push_back({static_cast<float>(span.second), static_cast<float>(row)});
  }
  return ends;
}

bool inside(const Quad& q, float x, float y) {
  for (int i = 0; i < 4; ++i) {
    const Point a = q.corners[i], b = q.corners[(i + 1) % 4];
    if ((b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x) <
        -1e-3f * (std::fabs(b.x - a.x) + std::fabs(b.y - a.y)))
      return false;
  }
  return true;
}

float mean_inside(const Grid& g, const Quad& q) {
  float low_x = 1e30f, high_x = -1e30f, low_y = 1e30f, high_y = -1e30f;
  for (Point p : q.corners)
    low_x = std::min(low_x, p.x), high_x = std::max(high_x, p.x), low_y = std::min(low_y, p.y),
    high_y = std::max(high_y, p.y);
  double sum = 0;
  int count = 0;
  for (int y = std::max(0, static_cast<int>(std::floor(low_y)));
       y <= std::min(g.height - 1, static_cast<int>(std::ceil(high_y))); ++y)
    for (int x = std::max(0, static_cast<int>(std::floor(low_x)));
         x <= std::min(g.width - 1, static_cast<int>(std::ceil(high_x))); ++x)
      if (inside(q, static_cast<float>(x), static_cast<float>(y)))
        sum += g.map[g.at(x, y)], ++count;
  return count ? static_cast<float>(sum / count) : 0;
}

float middle_y(const Quad& q) { return (q.corners[0].y + q.corners[2].y) / 2; }
float middle_x(const Quad& q) { return (q.corners[0].x + q.corners[2].x) / 2; }

}  // namespace

void sort_for_reading(std::vector<Quad>& boxes) {
  std::stable_sort(boxes.begin(), boxes.end(),
                   [](const Quad& a, const Quad& b) { return middle_y(a) < middle_y(b); });
  for (std::size_t start = 0; start < boxes.size();) {
    // A line reaches as far as the middles stay within half the height of its first box.
    std::size_t end = start + 1;
    while (end < boxes.size() &&
           middle_y(boxes[end]) - middle_y(boxes[start]) <
               0.5f * std::min(height_of(boxes[start]), height_of(boxes[end])))
      ++end;
    std::stable_sort(boxes.begin() + static_cast<std::ptrdiff_t>(start),
                     boxes.begin() + static_cast<std::ptrdiff_t>(end),
                     [](const Quad& a, const Quad& b) { return middle_x(a) < middle_x(b); });
    start = end;
  }
}

std::vector<Quad> find_text_boxes(std::span<const float> map, int width, int height,
                                  const Placement& placement, const TextBoxOptions& o) {
  TENON_CHECK(map.size() == static_cast<std::size_t>(width) * static_cast<std::size_t>(height),
              "map of {} for {}x{}", map.size(), width, height);
  Grid g{map, width, height, static_cast<float>(o.threshold), std::vector<bool>(map.size(), false)};
  std::vector<Quad> boxes;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      if (!g.open(x, y)) continue;
      Quad q = smallest_rectangle(take_region(g, x, y));
      const float w = width_of(q), h = height_of(q);
      if (std::min(w, h) < kSmallestSide || static_cast<int>(boxes.size()) >= o.max_boxes) continue;
      const float score = mean_inside(g, q);
      if (score < o.box_threshold) continue;
      q = grown(q, w * h * static_cast<float>(o.unclip) / (2 * (w + h)));
      // Pixel middles to edges, then to the source picture and into it.
      for (Point& p : q.corners) {
        p = placement.to_source({p.x + 0.5f, p.y + 0.5f});
        p = {std::clamp(p.x, 0.0f, static_cast<float>(placement.width)),
             std::clamp(p.y, 0.0f, static_cast<float>(placement.height))};
      }
      q.score = score;
      boxes.push_back(q);
    }
  sort_for_reading(boxes);
  return boxes;
}

}  // namespace tenon::dataset
