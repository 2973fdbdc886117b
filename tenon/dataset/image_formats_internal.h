// What image.cpp asks of the two decoders.
#pragma once

#include "tenon/dataset/image.h"

namespace tenon::dataset {

Result<ImageInfo> png_info(std::span<const std::byte> bytes, ImageLimits limits);
Result<ImageInfo> jpeg_info(std::span<const std::byte> bytes, ImageLimits limits);
Result<Image> decode_jpeg_region(std::span<const std::byte> bytes, Rect region, ImageLimits limits);
/// An error unless `region` is not empty and lies inside width x height.
Status check_region(Rect region, int width, int height);

}  // namespace tenon::dataset
