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

// One line for each format: whether the bytes are of it, and what reads them.
struct Format {
  bool (*is)(std::span<const std::byte>);
  Result<Image> (*decode)(std::span<const std::byte>, ImageLimits);
  Result<ImageInfo> (*info)(std::span<const std::byte>, ImageLimits);
};
using Bytes = std::span<const std::byte>;
constexpr Format kFormats[] = {
    {is_png, decode_png, png_info},
    {is_jpeg, decode_jpeg, jpeg_info},
    {[](Bytes b) {
       return b.size() >= 12 && starts_with(b, "RIFF") && starts_with(b.subspan(8), "WEBP");
     },
     decode_webp, webp_info},
    {[](Bytes b) { return starts_with(b, {"II*\0", 4}) || starts_with(b, {"MM\0*", 4}); },
     decode_tiff, tiff_info},
    {[](Bytes b) {
       return starts_with(b, {"\0\0\0\x0cjP  ", 8}) || starts_with(b, "\xff\x4f\xff\x51");
     },
     decode_jpeg2000, jpeg2000_info},
    {[](Bytes b) { return starts_with(b, "BM"); }, decode_bmp, bmp_info},
    {[](Bytes b) {
       return b.size() > 2 && b[0] == std::byte{'P'} && b[1] >= std::byte{'1'} &&
              b[1] <= std::byte{'6'};
     },
     decode_pnm, pnm_info},
};

Result<const Format*> format_of(Bytes bytes) {
  for (const Format& f : kFormats)
    if (f.is(bytes)) return &f;
  return unsupported("neither a PNG, JPEG, WebP, TIFF, JPEG 2000, BMP nor portable anymap picture");
}

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

Result<ImageInfo> checked_info(std::int64_t width, std::int64_t height, int channels,
                               ImageLimits limits) {
  constexpr std::int64_t kMaxSide = 1 << 20;
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide)
    return invalid("a picture of {}x{} pixels", width, height);
  if (width * height > limits.max_pixels)
    return invalid("a picture of {}x{} pixels is larger than the {} allowed", width, height,
                   limits.max_pixels);
  return ImageInfo{static_cast<int>(width), static_cast<int>(height), channels};
}

Result<Image> decode_image(std::span<const std::byte> bytes, ImageLimits limits) {
  return TENON_TRY(format_of(bytes))->decode(bytes, limits);
}

Result<ImageInfo> image_info(std::span<const std::byte> bytes, ImageLimits limits) {
  return TENON_TRY(format_of(bytes))->info(bytes, limits);
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
