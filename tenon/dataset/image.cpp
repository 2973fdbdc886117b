// What pictures of every source share: dispatch by magic bytes, colour, cutting.
#include "tenon/dataset/image.h"

#include <cstring>

#include "tenon/base/file.h"
#include "tenon/dataset/image_formats_internal.h"

namespace tenon::dataset {
namespace {

bool starts_with(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

bool is_png(std::span<const std::byte> bytes) { return starts_with(bytes, "\x89PNG\r\n\x1a\n"); }
bool is_jpeg(std::span<const std::byte> bytes) { return starts_with(bytes, "\xff\xd8\xff"); }
Error unknown_format() { return unsupported("neither a PNG nor a JPEG picture"); }

std::uint8_t over(std::uint8_t value, std::uint8_t alpha, int background) {
  return static_cast<std::uint8_t>((value * alpha + background * (255 - alpha) + 127) / 255);
}

// Pillow's fixed-point weights of BT.601, so that grey pictures agree to the bit.
std::uint8_t luma(std::uint8_t r, std::uint8_t g, std::uint8_t b) {
  return static_cast<std::uint8_t>((r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16);
}

}  // namespace

Image make_image(int width, int height, int channels) {
  Image image{width, height, channels, {}};
  image.pixels.resize(static_cast<std::size_t>(width) * height * channels);
  return image;
}

Result<Image> decode_image(std::span<const std::byte> bytes, ImageLimits limits) {
  if (is_png(bytes)) return decode_png(bytes, limits);
  if (is_jpeg(bytes)) return decode_jpeg(bytes, limits);
  return unknown_format();
}

Result<ImageInfo> image_info(std::span<const std::byte> bytes, ImageLimits limits) {
  if (is_png(bytes)) return png_info(bytes, limits);
  if (is_jpeg(bytes)) return jpeg_info(bytes, limits);
  return unknown_format();
}

Status check_region(Rect r, int width, int height) {
  if (r.x < 0 || r.y < 0 || r.width <= 0 || r.height <= 0 || r.width > width - r.x ||
      r.height > height - r.y)
    return invalid("region {}x{} at {},{} does not lie in a picture of {}x{}", r.width, r.height,
                   r.x, r.y, width, height);
  return {};
}

Result<Image> decode_region(std::span<const std::byte> bytes, Rect region, ImageLimits limits) {
  if (is_jpeg(bytes)) return decode_jpeg_region(bytes, region, limits);
  const Image image = TENON_TRY(decode_image(bytes, limits));
  TENON_TRY(check_region(region, image.width, image.height));
  return crop(image, region);
}

Result<Image> read_image(const std::filesystem::path& path, ImageLimits limits) {
  const auto file = TENON_TRY(MappedFile::open(path));
  return placed(decode_image(file->bytes(), limits), [&] { return path.string(); });
}

Image to_color(const Image& image, Color color, int background) {
  const bool has_alpha = image.channels == 2 || image.channels == 4;
  const int colors = image.channels >= 3 ? 3 : 1, wanted = color == Color::gray ? 1 : 3;
  if (!has_alpha && colors == wanted && color != Color::bgr) return image;
  Image out = make_image(image.width, image.height, wanted);
  const std::uint8_t* from = image.pixels.data();
  std::uint8_t* to = out.pixels.data();
  const std::size_t count = static_cast<std::size_t>(image.width) * image.height;
  for (std::size_t i = 0; i < count; ++i, from += image.channels, to += wanted) {
    std::uint8_t rgb[3] = {from[0], from[colors == 3 ? 1 : 0], from[colors == 3 ? 2 : 0]};
    if (has_alpha && background >= 0)
      for (auto& v : rgb) v = over(v, from[image.channels - 1], background);
    if (wanted == 1)
      to[0] = colors == 3 ? luma(rgb[0], rgb[1], rgb[2]) : rgb[0];
    else
      for (int c = 0; c < 3; ++c) to[c] = rgb[color == Color::bgr ? 2 - c : c];
  }
  return out;
}

Image crop(const Image& image, Rect r) {
  TENON_CHECK(r.x >= 0 && r.y >= 0 && r.width >= 0 && r.height >= 0 &&
                  r.x + r.width <= image.width && r.y + r.height <= image.height,
              "region {}x{} at {},{} of a picture of {}x{}", r.width, r.height, r.x, r.y,
              image.width, image.height);
  Image out = make_image(r.width, r.height, image.channels);
  const std::size_t row = static_cast<std::size_t>(r.width) * image.channels;
  for (int y = 0; y < r.height && row; ++y)
    std::memcpy(out.row(y), image.row(r.y + y) + static_cast<std::size_t>(r.x) * image.channels,
                row);
  return out;
}

Tensor to_tensor(const Image& image) {
  return Tensor::of<std::uint8_t>({image.height, image.width, image.channels}, image.pixels);
}

Status write_png(const std::filesystem::path& path, const Image& image) {
  return write_file_atomic(path, encode_png(image));
}

}  // namespace tenon::dataset
