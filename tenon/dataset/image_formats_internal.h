// What image.cpp asks of the decoders.
#pragma once

#include "tenon/dataset/image.h"

namespace tenon::dataset {

Result<ImageInfo> png_info(std::span<const std::byte> bytes, ImageLimits limits);
Result<ImageInfo> jpeg_info(std::span<const std::byte> bytes, ImageLimits limits);
Result<Image> decode_jpeg_region(std::span<const std::byte> bytes, Rect region, ImageLimits limits);
Result<ImageInfo> webp_info(std::span<const std::byte> bytes, ImageLimits limits);
Result<Image> decode_webp(std::span<const std::byte> bytes, ImageLimits limits);
Result<ImageInfo> tiff_info(std::span<const std::byte> bytes, ImageLimits limits);
Result<Image> decode_tiff(std::span<const std::byte> bytes, ImageLimits limits);
Result<ImageInfo> jpeg2000_info(std::span<const std::byte> bytes, ImageLimits limits);
Result<Image> decode_jpeg2000(std::span<const std::byte> bytes, ImageLimits limits);
Result<ImageInfo> bmp_info(std::span<const std::byte> bytes, ImageLimits limits);
Result<Image> decode_bmp(std::span<const std::byte> bytes, ImageLimits limits);
Result<ImageInfo> pnm_info(std::span<const std::byte> bytes, ImageLimits limits);
Result<Image> decode_pnm(std::span<const std::byte> bytes, ImageLimits limits);
/// The sizes from a header, refused when they are not positive or more pixels than `limits` allow.
Result<ImageInfo> checked_info(std::int64_t width, std::int64_t height, int channels,
                               ImageLimits limits);
/// An error unless `region` is not empty and lies inside width x height.
Status check_region(Rect region, int width, int height);

}  // namespace tenon::dataset
