// Pictures to other sizes.
#pragma once

#include "tenon/dataset/image.h"

namespace tenon::dataset {

enum class Interpolation : std::uint8_t {
  nearest,   // the pixel at floor((x + 0.5) * scale)
  bilinear,  // two by two pixels around the half-pixel centre, whatever the scale (OpenCV's
             // INTER_LINEAR)
  area,  // a triangle as wide as the scale when shrinking (antialiased; Pillow's BILINEAR, to the
         // bit)
  bicubic,  // Keys' cubic with a = -0.5, as wide as the scale when shrinking (Pillow's BICUBIC)
};

/// `image` stretched to width x height, both positive; every channel alone.
Image resize(const Image& image, int width, int height, Interpolation interpolation);

/// The picture mirrored left to right.
Image flip_horizontal(Image image);

}  // namespace tenon::dataset
