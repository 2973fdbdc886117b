// Lines of text from the probability map of a DBNet-like detector.
#pragma once

#include <span>
#include <vector>

#include "tenon/dataset/geometry.h"

namespace tenon::dataset {

struct TextBoxOptions {
  double threshold = 0.3;      // of a pixel
  double box_threshold = 0.6;  // of the mean over a box
  double unclip = 1.5;  // boxes grow by area * unclip / perimeter (Liao et al. 2020, equation 10)
  int max_boxes = 1000;
};

/// The smallest rectangles around the connected regions (8 neighbours) of map[height, width] above
/// the threshold, grown, in pixels of the source picture, in reading order: lines from top to
/// bottom, boxes of a line from left to right.
std::vector<Quad> find_text_boxes(std::span<const float> map, int width, int height,
                                  const Placement& placement, const TextBoxOptions& options);

/// Sorts boxes into reading order.
void sort_for_reading(std::vector<Quad>& boxes);

}  // namespace tenon::dataset
