// Convex hulls, rotated rectangles and upright cut-outs.
#include "tenon/dataset/geometry.h"

#include <algorithm>
#include <cmath>

namespace tenon::dataset {
namespace {

float cross(Point o, Point a, Point b) {
  return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
}
float distance(Point a, Point b) { return std::hypot(a.x - b.x, a.y - b.y); }

std::vector<Point> convex_hull(std::vector<Point> p) {  // Andrew's monotone chain
  std::sort(p.begin(), p.end(),
            [](Point a, Point b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  p.erase(
      std::unique(p.begin(), p.end(), [](Point a, Point b) { return a.x == b.x && a.y == b.y; }),
      p.end());
  if (p.size() < 3) return p;
  std::vector<Point> hull;
  for (int pass = 0; pass < 2; ++pass) {
    const std::size_t start = hull.size();
    for (Point point : p) {
      while (hull.size() >= start + 2 && cross(hull[hull.size() - 2], hull.back(), point) <= 0)
        hull.pop_back();
      hull.push_back(point);
    }
    hull.pop_back();
    std::reverse(p.begin(), p.end());
  }
  return hull;
}

// Corners clockwise (y grows downward) from the top left one: of the two leftmost corners the
// upper.
Quad ordered(Quad q) {
  std::sort(std::begin(q.corners), std::end(q.corners),
            [](Point a, Point b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  const auto [a, b, c, d] = std::tuple(q.corners[0], q.corners[1], q.corners[2], q.corners[3]);
  const Point top_left = a.y <= b.y ? a : b, bottom_left = a.y <= b.y ? b : a;
  const Point top_right = c.y <= d.y ? c : d, bottom_right = c.y <= d.y ? d : c;
  return {{top_left, top_right, bottom_right, bottom_left}, q.score};
}

// The rectangle with a side along the unit vector (ux, uy) around the hull.
Quad rectangle_along(const std::vector<Point>& hull, float ux, float uy, float& area) {
  float low_u = 1e30f, high_u = -1e30f, low_v = 1e30f, high_v = -1e30f;
  for (Point p : hull) {
    const float u = p.x * ux + p.y * uy, v = -p.x * uy + p.y * ux;
    low_u = std::min(low_u, u), high_u = std::max(high_u, u);
    low_v = std::min(low_v, v), high_v = std::max(high_v, v);
  }
  area = (high_u - low_u) * (high_v - low_v);
  const auto at = [&](float u, float v) { return Point{u * ux - v * uy, u * uy + v * ux}; };
  return {{at(low_u, low_v), at(high_u, low_v), at(high_u, high_v), at(low_u, high_v)}, 0};
}

}  // namespace

Quad smallest_rectangle(std::vector<Point> points) {
  const std::vector<Point> hull = convex_hull(std::move(points));
  if (hull.empty()) return {};
  float best_area = 0;
  Quad best = rectangle_along(hull, 1, 0, best_area);
  for (std::size_t i = 0; i < hull.size(); ++i) {
    const Point a = hull[i], b = hull[(i + 1) % hull.size()];
    const float length = distance(a, b);
    if (length == 0) continue;
    float area = 0;
    const Quad q = rectangle_along(hull, (b.x - a.x) / length, (b.y - a.y) / length, area);
    if (area < best_area) best = q, best_area = area;
  }
  return ordered(best);
}

float width_of(const Quad& q) { return distance(q.corners[0], q.corners[1]); }
float height_of(const Quad& q) { return distance(q.corners[0], q.corners[3]); }

Quad grown(const Quad& q, float by) {
  Point along{1, 0}, down{0, 1};
  const float w = width_of(q), h = height_of(q);
  if (w > 0) along = {(q.corners[1].x - q.corners[0].x) / w, (q.corners[1].y - q.corners[0].y) / w};
  if (h > 0) down = {(q.corners[3].x - q.corners[0].x) / h, (q.corners[3].y - q.corners[0].y) / h};
  const float signs[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  Quad out = q;
  for (int i = 0; i < 4; ++i) {
    out.corners[i].x += by * (signs[i][0] * along.x + signs[i][1] * down.x);
    out.corners[i].y += by * (signs[i][0] * along.y + signs[i][1] * down.y);
  }
  return out;
}

Image cut_out(const Image& image, const Quad& q) {
  const float w = std::max(width_of(q), distance(q.corners[3], q.corners[2]));
  const float h = std::max(height_of(q), distance(q.corners[1], q.corners[2]));
  const int width = std::max(1, static_cast<int>(std::lround(std::min(w, 65536.0f))));
  const int height = std::max(1, static_cast<int>(std::lround(std::min(h, 65536.0f))));
  Image out = make_image(width, height, image.channels);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      // Bilinear over the four corners: exact for parallelograms, which these are.
      const float u = (static_cast<float>(x) + 0.5f) / static_cast<float>(width),
                  v = (static_cast<float>(y) + 0.5f) / static_cast<float>(height);
      const auto mix = [&](float a, float b, float c, float d) {
        return (a + (b - a) * u) * (1 - v) + (d + (c - d) * u) * v;
      };
      const float sx =
          std::clamp(mix(q.corners[0].x, q.corners[1].x, q.corners[2].x, q.corners[3].x) - 0.5f,
                     0.0f, static_cast<float>(image.width - 1));
      const float sy =
          std::clamp(mix(q.corners[0].y, q.corners[1].y, q.corners[2].y, q.corners[3].y) - 0.5f,
                     0.0f, static_cast<float>(image.height - 1));
      const int x0 = static_cast<int>(sx), y0 = static_cast<int>(sy),
                x1 = std::min(x0 + 1, image.width - 1), y1 = std::min(y0 + 1, image.height - 1);
      const float fx = sx - static_cast<float>(x0), fy = sy - static_cast<float>(y0);
      for (int c = 0; c < image.channels; ++c) {
        const auto at = [&](int px, int py) {
          return static_cast<float>(image.row(py)[px * image.channels + c]);
        };
        const float top = at(x0, y0) + (at(x1, y0) - at(x0, y0)) * fx,
                    bottom = at(x0, y1) + (at(x1, y1) - at(x0, y1)) * fx;
        out.row(y)[x * image.channels + c] =
            static_cast<std::uint8_t>(top + (bottom - top) * fy + 0.5f);
      }
    }
  if (2 * height < 3 * width) return out;
  Image turned = make_image(height, width, image.channels);
  for (int y = 0; y < width; ++y)
    for (int x = 0; x < height; ++x)
      std::copy_n(out.row(x) + static_cast<std::size_t>(width - 1 - y) * image.channels,
                  image.channels, turned.row(y) + static_cast<std::size_t>(x) * image.channels);
  return turned;
}

}  // namespace tenon::dataset
