// Pictures in memory, read from PNG, JPEG, WebP, TIFF, JPEG 2000, BMP and portable anymaps, written
// as PNG.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/tensor.h"

namespace tenon::dataset {

/// A picture of 8 bits a channel: pixels[(y * width + x) * channels + c]. One channel is grey, two
/// grey and alpha, three red-green-blue, four with alpha.
struct Image {
  int width = 0, height = 0, channels = 0;
  std::vector<std::uint8_t> pixels;

  const std::uint8_t* row(int y) const {
    return pixels.data() + static_cast<std::size_t>(y) * width * channels;
  }
  std::uint8_t* row(int y) {
    return pixels.data() + static_cast<std::size_t>(y) * width * channels;
  }
};
Image make_image(int width, int height, int channels);

struct ImageLimits {
  /// Larger pictures are refused before their pixels are allocated.
  std::int64_t max_pixels = std::int64_t{1} << 28;
};

/// A rectangle in pixels, right and bottom excluded.
struct Rect {
  int x = 0, y = 0, width = 0, height = 0;
};

/// Decodes by the magic bytes. PNG: every colour type, depth, palette, transparency and interlace;
/// 16-bit samples are scaled to 8. JPEG: baseline and progressive, grey, YCbCr, CMYK and YCCK
/// (turned to RGB); an EXIF orientation is ignored, as Pillow does. Of the other formats the first
/// picture, in 8 bits a channel. Cut-off or corrupt data are an
/// error, not a grey patch.
Result<Image> decode_image(std::span<const std::byte> bytes, ImageLimits limits = {});
Result<Image> read_image(const std::filesystem::path& path, ImageLimits limits = {});

Result<Image> decode_png(std::span<const std::byte> bytes, ImageLimits limits = {});
Result<Image> decode_jpeg(std::span<const std::byte> bytes, ImageLimits limits = {});

/// Width, height and channels of a picture without decoding it (channels as decode_image gives
/// them).
struct ImageInfo {
  int width = 0, height = 0, channels = 0;
};
Result<ImageInfo> image_info(std::span<const std::byte> bytes, ImageLimits limits = {});
/// The pixels of `region` alone, equal to those of the whole picture. JPEG skips the rest of the
/// inverse transform, which is most of the work; PNG decodes the whole.
Result<Image> decode_region(std::span<const std::byte> bytes, Rect region, ImageLimits limits = {});

/// The PNG file of a picture of one to four channels.
std::string encode_png(const Image& image);
Status write_png(const std::filesystem::path& path, const Image& image);

enum class Color : std::uint8_t { rgb, bgr, gray };
/// To three channels or one. Alpha is laid over `background` (0-255) where it is not negative and
/// dropped otherwise. Grey is (299 R + 587 G + 114 B) / 1000, as ITU-R BT.601 and Pillow weigh it.
Image to_color(const Image& image, Color color, int background = -1);

/// The part of the picture below `region`, which must lie inside.
Image crop(const Image& image, Rect region);

/// dims [height, width, channels], u8.
Tensor to_tensor(const Image& image);

}  // namespace tenon::dataset
