// Portable bitmaps, graymaps and pixmaps (P1 to P6), of up to 16 bits a sample.
#include "tenon/dataset/image.h"
#include "tenon/dataset/image_formats_internal.h"

namespace tenon::dataset {
namespace {

struct Anymap {
  ImageInfo info;
  int kind = 0;        // 1 to 6
  int highest = 1;     // sample value that is white
  std::size_t at = 0;  // of the first sample
};

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The next number of a header or of plain samples; comments run from # to the end of a line.
Result<int> number(std::string_view text, std::size_t& at) {
  while (at < text.size() && (is_space(text[at]) || text[at] == '#')) {
    if (text[at] == '#')
      while (at < text.size() && text[at] != '\n') ++at;
    else
      ++at;
  }
  std::int64_t v = 0;
  const std::size_t start = at;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
    if (v = v * 10 + (text[at] - '0'); v > (1 << 30))
      return invalid("a number of the portable anymap is too large");
  if (at == start) return invalid("the portable anymap is corrupt or cut off");
  return static_cast<int>(v);
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<Anymap> parse(std::string_view text, ImageLimits limits) {
  Anymap m;
  m.kind = text[1] - '0';
  m.at = 2;
  const int width = TENON_TRY(number(text, m.at)), height = TENON_TRY(number(text, m.at));
  if (m.kind != 1 && m.kind != 4) m.highest = TENON_TRY(number(text, m.at));
  if (m.highest < 1 || m.highest > 65535)
    return invalid("the portable anymap's highest value is {}", m.highest);
  if (m.kind > 3) ++m.at;  // one white space before binary samples
  m.info = TENON_TRY(checked_info(width, height, m.kind % 3 == 0 ? 3 : 1, limits));
  return m;
}

std::uint8_t scaled(int v, int highest) {
  return static_cast<std::uint8_t>(
      highest == 255 ? std::min(v, 255) : (std::min(v, highest) * 255 + highest / 2) / highest);
}

// P4: eight pixels a byte, rows padded to bytes, 1 is black.
Status read_bits(std::string_view text, const Anymap& m, Image& image) {
  const auto row_bytes = static_cast<std::size_t>((m.info.width + 7) / 8);
  if (m.at > text.size() ||
      text.size() - m.at < row_bytes * static_cast<std::size_t>(m.info.height))
    return invalid("the portable bitmap is cut off");
  for (int y = 0; y < m.info.height; ++y)
    for (int x = 0; x < m.info.width; ++x) {
      const auto byte = static_cast<std::uint8_t>(
          text[m.at + static_cast<std::size_t>(y) * row_bytes + static_cast<std::size_t>(x / 8)]);
      image.row(y)[x] = byte >> (7 - x % 8) & 1 ? 0 : 255;
    }
  return {};
}

Status read_binary(std::string_view text, const Anymap& m, Image& image) {
  const std::size_t width = m.highest > 255 ? 2 : 1;
  if (m.at > text.size() || (text.size() - m.at) / width < image.pixels.size())
    return invalid("the portable anymap is cut off");
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    const auto* p = reinterpret_cast<const std::uint8_t*>(text.data()) + m.at + i * width;
    image.pixels[i] = scaled(width == 2 ? p[0] * 256 + p[1] : p[0], m.highest);
  }
  return {};
}

// P1 may write its digits without space between.
Status read_plain(std::string_view text, Anymap m, Image& image) {
  for (auto& pixel : image.pixels) {
    if (m.kind != 1) {
      pixel = scaled(TENON_TRY(number(text, m.at)), m.highest);
      continue;
    }
    while (m.at < text.size() && is_space(text[m.at])) ++m.at;
    if (m.at == text.size() || (text[m.at] != '0' && text[m.at] != '1'))
      return invalid("the portable bitmap is corrupt or cut off");
    pixel = text[m.at++] == '1' ? 0 : 255;
  }
  return {};
}

}  // namespace

Result<ImageInfo> pnm_info(std::span<const std::byte> bytes, ImageLimits limits) {
  return TENON_TRY(parse(text_of(bytes), limits)).info;
}

Result<Image> decode_pnm(std::span<const std::byte> bytes, ImageLimits limits) {
  const std::string_view text = text_of(bytes);
  const Anymap m = TENON_TRY(parse(text, limits));
  // Plain samples take at least a character each; a larger picture is not in the file.
  if (static_cast<std::int64_t>(m.info.width) * m.info.height >
      static_cast<std::int64_t>(bytes.size()) * 8)
    return invalid("the portable anymap is cut off");
  Image image = make_image(m.info.width, m.info.height, m.info.channels);
  TENON_TRY(m.kind == 4  ? read_bits(text, m, image)
            : m.kind > 3 ? read_binary(text, m, image)
                         : read_plain(text, m, image));
  return image;
}

}  // namespace tenon::dataset
