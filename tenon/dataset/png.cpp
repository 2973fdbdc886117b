// PNG through libpng. Its errors leave by longjmp, so nothing with a destructor lives in that
// frame.
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "tenon/dataset/image.h"
#include "tenon/dataset/image_formats_internal.h"

namespace tenon::dataset {
namespace {

// Everything a longjmp may pass over is owned here, outside of the jumping frame.
struct Session {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const std::byte> bytes;
  std::size_t at = 0;
  std::string problem;
  Image image;
  std::vector<png_bytep> rows;
  std::string out;
  bool writing = false;

  ~Session() {
    if (writing)
      png_destroy_write_struct(&png, &info);
    else
      png_destroy_read_struct(&png, &info, nullptr);
  }
};

void on_error(png_structp png, png_const_charp message) {
  static_cast<Session*>(png_get_error_ptr(png))->problem = message;
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}  // ancillary chunks; the pixels are intact

void on_read(png_structp png, png_bytep to, png_size_t count) {
  auto* s = static_cast<Session*>(png_get_io_ptr(png));
  if (s->bytes.size() - s->at < count) png_error(png, "the file is cut off");
  std::memcpy(to, s->bytes.data() + s->at, count);
  s->at += count;
}

void on_write(png_structp png, png_bytep from, png_size_t count) {
  static_cast<Session*>(png_get_io_ptr(png))
      ->out.append(reinterpret_cast<const char*>(from), count);
}

bool start_reading(Session& s) {
  s.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
  s.info = s.png ? png_create_info_struct(s.png) : nullptr;
  if (!s.info) return false;
  png_set_read_fn(s.png, &s, on_read);
  png_set_user_limits(s.png, 1 << 20, 1 << 20);
  png_set_chunk_malloc_max(s.png, 64 << 20);
  return true;
}

// Asks libpng for 8-bit grey, grey-alpha, RGB or RGBA whatever the file holds.
void set_transforms(Session& s) {
  png_set_scale_16(s.png);
  png_set_expand(s.png);  // palettes to RGB, 1-4 bits to 8, tRNS to alpha
  png_set_interlace_handling(s.png);
  png_read_update_info(s.png, s.info);
}

bool read_header(Session& s) {
  if (setjmp(png_jmpbuf(s.png))) return false;
  png_read_info(s.png, s.info);
  set_transforms(s);
  s.image.width = static_cast<int>(png_get_image_width(s.png, s.info));
  s.image.height = static_cast<int>(png_get_image_height(s.png, s.info));
  s.image.channels = png_get_channels(s.png, s.info);
  return true;
}

bool read_pixels(Session& s) {
  if (setjmp(png_jmpbuf(s.png))) return false;
  png_read_image(s.png, s.rows.data());
  png_read_end(s.png, nullptr);
  return true;
}

Status open_png(Session& s, std::span<const std::byte> bytes, ImageLimits limits) {
  s.bytes = bytes;
  if (!start_reading(s)) return error(Code::out_of_memory, "no memory for a PNG decoder");
  if (!read_header(s)) return invalid("not a readable PNG: {}", s.problem);
  if (std::int64_t{s.image.width} * s.image.height > limits.max_pixels)
    return invalid("a PNG of {}x{} is over the limit of {} pixels", s.image.width, s.image.height,
                   limits.max_pixels);
  return {};
}

bool write_all(Session& s, const Image& image) {
  static constexpr int kTypes[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                   PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  if (setjmp(png_jmpbuf(s.png))) return false;
  png_set_write_fn(s.png, &s, on_write, nullptr);
  png_set_IHDR(s.png, s.info, static_cast<png_uint_32>(image.width),
               static_cast<png_uint_32>(image.height), 8, kTypes[image.channels],
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(s.png, s.info);
  png_write_image(s.png, s.rows.data());
  png_write_end(s.png, s.info);
  return true;
}

}  // namespace

Result<Image> decode_png(std::span<const std::byte> bytes, ImageLimits limits) {
  Session s;
  TENON_TRY(open_png(s, bytes, limits));
  s.image.pixels.resize(static_cast<std::size_t>(s.image.width) * s.image.height *
                        s.image.channels);
  for (int y = 0; y < s.image.height; ++y) s.rows.push_back(s.image.row(y));
  if (!read_pixels(s)) return invalid("corrupt PNG: {}", s.problem);
  return std::move(s.image);
}

Result<ImageInfo> png_info(std::span<const std::byte> bytes, ImageLimits limits) {
  Session s;
  TENON_TRY(open_png(s, bytes, limits));
  return ImageInfo{s.image.width, s.image.height, s.image.channels};
}

std::string encode_png(const Image& image) {
  TENON_CHECK(image.channels >= 1 && image.channels <= 4 && image.width > 0 && image.height > 0,
              "picture {}x{}x{}", image.height, image.width, image.channels);
  Session s;
  s.writing = true;
  s.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
  s.info = s.png ? png_create_info_struct(s.png) : nullptr;
  for (int y = 0; y < image.height; ++y) s.rows.push_back(const_cast<std::uint8_t*>(image.row(y)));
  TENON_CHECK(s.info && write_all(s, image), "libpng: {}", s.problem);
  return std::move(s.out);
}

}  // namespace tenon::dataset
