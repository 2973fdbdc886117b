// Windows bitmaps: 1, 4, 8, 16, 24 and 32 bits a pixel, without compression or with bit fields.
#include <array>
#include <bit>

#include "tenon/dataset/image.h"
#include "tenon/dataset/image_formats_internal.h"

namespace tenon::dataset {
namespace {

// The header, and where palette and pixels lie.
struct Bitmap {
  ImageInfo info;
  std::int64_t pixels_at = 0, palette_at = 0, palette_size = 0, row_bytes = 0;
  int bits = 0, palette_entry = 4;
  bool top_down = false;
  std::array<std::uint32_t, 3> masks{};  // red, green, blue of 16 and 32 bits
};

std::uint32_t little(std::span<const std::byte> b, std::size_t at, int bytes) {
  std::uint32_t v = 0;
  for (int i = 0; i < bytes && at + static_cast<std::size_t>(i) < b.size(); ++i)
    v |= std::to_integer<std::uint32_t>(b[at + static_cast<std::size_t>(i)]) << (8 * i);
  return v;
}

void default_masks(Bitmap& m) {
  if (m.bits == 16)
    m.masks = {0x7c00, 0x03e0, 0x001f};
  else
    m.masks = {0x00ff0000, 0x0000ff00, 0x000000ff};
}

Result<Bitmap> parse(std::span<const std::byte> b, ImageLimits limits) {
  const std::uint32_t header = little(b, 14, 4);
  if (b.size() < 26 || (header != 12 && header < 40) || header > 1024 ||
      b.size() < 14 + std::size_t{header})
    return invalid("the bitmap header is corrupt or cut off");
  Bitmap m;
  m.pixels_at = little(b, 10, 4);
  const bool old = header == 12;
  const auto width = static_cast<std::int32_t>(old ? little(b, 18, 2) : little(b, 18, 4)),
             height = static_cast<std::int32_t>(old ? little(b, 20, 2) : little(b, 22, 4));
  m.bits = static_cast<int>(little(b, old ? 24 : 28, 2));
  const std::uint32_t compression = old ? 0 : little(b, 30, 4), used = old ? 0 : little(b, 46, 4);
  m.top_down = height < 0;
  m.palette_entry = old ? 3 : 4;
  m.palette_at = 14 + static_cast<std::int64_t>(header);
  if (compression != 0 && compression != 3)
    return unsupported("a bitmap compressed by method {}", compression);
  if (m.bits != 1 && m.bits != 4 && m.bits != 8 && m.bits != 16 && m.bits != 24 && m.bits != 32)
    return unsupported("a bitmap of {} bits a pixel", m.bits);
  if (m.bits <= 8) m.palette_size = used ? std::min<std::int64_t>(used, 1 << m.bits) : 1 << m.bits;
  default_masks(m);
  if (compression == 3 && (m.bits == 16 || m.bits == 32))
    for (std::size_t i = 0; i < 3; ++i) m.masks[i] = little(b, 54 + 4 * i, 4);
  m.info = TENON_TRY(checked_info(width, m.top_down ? -std::int64_t{height} : height, 3, limits));
  m.row_bytes = (static_cast<std::int64_t>(m.info.width) * m.bits + 31) / 32 * 4;
  const auto size = static_cast<std::int64_t>(b.size());
  if (m.pixels_at > size || m.row_bytes * m.info.height > size - m.pixels_at ||
      m.palette_at + m.palette_size * m.palette_entry > size)
    return invalid("the bitmap is cut off");
  return m;
}

// The bits under `mask`, stretched to 0 ... 255.
std::uint8_t field(std::uint32_t pixel, std::uint32_t mask) {
  if (mask == 0) return 0;
  const std::uint32_t top = mask >> std::countr_zero(mask),
                      v = (pixel & mask) >> std::countr_zero(mask);
  return static_cast<std::uint8_t>(std::uint64_t{v} * 255 / top);
}

void read_pixel(std::span<const std::byte> b, const Bitmap& m, std::size_t row, int x,
                std::uint8_t* rgb) {
  const auto at = row + static_cast<std::size_t>(x) * static_cast<std::size_t>(m.bits) / 8;
  if (m.bits <= 8) {
    const int shift = 8 - m.bits - x * m.bits % 8;
    const auto index =
        static_cast<std::int64_t>(std::to_integer<unsigned>(b[at]) >> shift & ((1U << m.bits) - 1));
    if (index >= m.palette_size) return;
    const auto entry = static_cast<std::size_t>(m.palette_at + index * m.palette_entry);
    for (std::size_t c = 0; c < 3; ++c) rgb[c] = std::to_integer<std::uint8_t>(b[entry + 2 - c]);
  } else if (m.bits == 24) {
    for (std::size_t c = 0; c < 3; ++c) rgb[c] = std::to_integer<std::uint8_t>(b[at + 2 - c]);
  } else {
    const std::uint32_t pixel = little(b, at, m.bits / 8);
    for (std::size_t c = 0; c < 3; ++c) rgb[c] = field(pixel, m.masks[c]);
  }
}

}  // namespace

Result<ImageInfo> bmp_info(std::span<const std::byte> bytes, ImageLimits limits) {
  return TENON_TRY(parse(bytes, limits)).info;
}

Result<Image> decode_bmp(std::span<const std::byte> bytes, ImageLimits limits) {
  const Bitmap m = TENON_TRY(parse(bytes, limits));
  Image image = make_image(m.info.width, m.info.height, 3);
  for (int y = 0; y < m.info.height; ++y) {
    const auto row = static_cast<std::size_t>(
        m.pixels_at + m.row_bytes * (m.top_down ? y : m.info.height - 1 - y));
    for (int x = 0; x < m.info.width; ++x) read_pixel(bytes, m, row, x, image.row(y) + 3 * x);
  }
  return image;
}

}  // namespace tenon::dataset
