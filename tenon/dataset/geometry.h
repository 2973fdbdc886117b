// Points, rotated rectangles and boxes in pictures.
#pragma once

#include <span>
#include <vector>

#include "tenon/dataset/image.h"

namespace tenon::dataset {

struct Point {
  float x = 0, y = 0;
};

/// A rectangle at any angle: corners clockwise from the top left one.
struct Quad {
  Point corners[4];
  float score = 0;
};

/// The rectangle of smallest area around `points`, found along the edges of their convex hull
/// (Freeman and Shapira 1975); a single point gives a rectangle of no size.
Quad smallest_rectangle(std::vector<Point> points);
/// Lengths of the top and the left side.
float width_of(const Quad& q);
float height_of(const Quad& q);
/// Every side moved outward by `distance`.
Quad grown(const Quad& q, float distance);

/// The part of `image` below `q`, turned upright, by bilinear interpolation; pixels beyond the edge
/// repeat it. A part at least 1.5 times as high as wide is turned left by a quarter (a line of text
/// set vertically).
Image cut_out(const Image& image, const Quad& q);

/// How a prepared picture lies over its source: prepared = source * scale + offset, in pixels.
struct Placement {
  int width = 0, height = 0;                    // of the source
  int prepared_width = 0, prepared_height = 0;  // of the prepared picture
  double scale_x = 1, scale_y = 1, offset_x = 0, offset_y = 0;
  Point to_source(Point p) const {
    return {static_cast<float>((p.x - offset_x) / scale_x),
            static_cast<float>((p.y - offset_y) / scale_y)};
  }
};

}  // namespace tenon::dataset
