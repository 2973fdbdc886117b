// JPEG through libjpeg-turbo, with the defaults of Pillow (accurate integer transform, smooth
// upsampling). Errors leave by longjmp, so nothing with a destructor lives in that frame.
#include <cstddef>
#include <cstdio>
// jpeglib.h needs the two above.
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "tenon/dataset/image.h"
#include "tenon/dataset/image_formats_internal.h"
#include "tenon/dataset/spare_buffers_internal.h"

namespace tenon::dataset {
namespace {

struct Session {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  std::jmp_buf jump;
  char problem[JMSG_LENGTH_MAX] = "";
  bool created = false;
  bool damaged = false;
  std::vector<std::uint8_t> scratch;  // a row of the decoder's own width

  ~Session() {
    if (created) jpeg_destroy_decompress(&jpeg);
  }
};

Session& session_of(j_common_ptr common) { return *static_cast<Session*>(common->client_data); }

void on_error(j_common_ptr common) {
  Session& s = session_of(common);
  common->err->format_message(common, s.problem);
  std::longjmp(s.jump, 1);
}

// libjpeg patches over missing data with a warning; for a data set that is a corrupt file. Stray
// bytes between segments lose nothing and pass.
void on_message(j_common_ptr common, int level) {
  Session& s = session_of(common);
  if (level >= 0 || s.damaged) return;
  const int code = common->err->msg_code;
  if (code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR ||
      code == JWRN_BOGUS_PROGRESSION)
    return;
  common->err->format_message(common, s.problem);
  s.damaged = true;
}

// A hostile progressive file can hold thousands of scans over one large frame; each costs a pass.
constexpr int kMaxScans = 500;
void on_progress(j_common_ptr common) {
  auto* jpeg = reinterpret_cast<j_decompress_ptr>(common);
  if (jpeg->input_scan_number <= kMaxScans) return;
  std::snprintf(session_of(common).problem, JMSG_LENGTH_MAX, "more than %d scans", kMaxScans);
  std::longjmp(session_of(common).jump, 1);
}

jpeg_progress_mgr* progress_guard() {
  static thread_local jpeg_progress_mgr guard{};
  guard.progress_monitor = on_progress;
  return &guard;
}

bool read_header(Session& s, std::span<const std::byte> bytes) {
  if (setjmp(s.jump)) return false;
  s.jpeg.err = jpeg_std_error(&s.errors);
  s.errors.error_exit = on_error;
  s.errors.emit_message = on_message;
  s.jpeg.client_data = &s;
  jpeg_create_decompress(&s.jpeg);
  s.created = true;
  s.jpeg.progress = progress_guard();
  jpeg_mem_src(&s.jpeg, reinterpret_cast<const unsigned char*>(bytes.data()),
               static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&s.jpeg, TRUE);
  if (s.jpeg.jpeg_color_space == JCS_CMYK || s.jpeg.jpeg_color_space == JCS_YCCK)
    s.jpeg.out_color_space = JCS_CMYK;
  else if (s.jpeg.num_components == 1)
    s.jpeg.out_color_space = JCS_GRAYSCALE;
  else
    s.jpeg.out_color_space = JCS_RGB;
  jpeg_calc_output_dimensions(&s.jpeg);
  return true;
}

// Adobe writes inverted inks: 255 is no ink.
void cmyk_to_rgb(const std::uint8_t* from, std::uint8_t* to, int width, bool inverted) {
  for (int x = 0; x < width; ++x, from += 4, to += 3)
    for (int c = 0; c < 3; ++c) {
      const int ink = inverted ? from[c] : 255 - from[c], key = inverted ? from[3] : 255 - from[3];
      to[c] = static_cast<std::uint8_t>((ink * key + 127) / 255);
    }
}

// The decoder works in whole blocks: it gives columns [first, first + width) that hold the
// region's. The margin covers the reach of the smooth chroma upsampling, so that pixels equal the
// whole picture's.
struct Columns {
  JDIMENSION first = 0, width = 0;
};

Columns start(Session& s, Rect region) {
  jpeg_start_decompress(&s.jpeg);
  Columns c{0, s.jpeg.output_width};
  const int margin = 32;
  const int from = std::max(0, region.x - margin);
  const int to = std::min(static_cast<int>(s.jpeg.output_width), region.x + region.width + margin);
  if (to - from < static_cast<int>(s.jpeg.output_width)) {
    c.first = static_cast<JDIMENSION>(from);
    c.width = static_cast<JDIMENSION>(to - from);
    jpeg_crop_scanline(&s.jpeg, &c.first, &c.width);
  }
  return c;
}

bool read_rows(Session& s, Rect region, Image& image) {
  if (setjmp(s.jump)) return false;
  const Columns columns = start(s, region);
  const int components = s.jpeg.output_components;
  s.scratch.resize(static_cast<std::size_t>(columns.width) * components);
  // A few rows before the region are decoded for the same reason as the columns' margin.
  const int skip = std::max(0, region.y - 32);
  if (skip > 0) jpeg_skip_scanlines(&s.jpeg, static_cast<JDIMENSION>(skip));
  JSAMPROW row = s.scratch.data();
  for (int y = skip; y < region.y + region.height; ++y) {
    jpeg_read_scanlines(&s.jpeg, &row, 1);
    if (y < region.y) continue;
    const std::uint8_t* from =
        s.scratch.data() + (static_cast<std::size_t>(region.x) - columns.first) * components;
    if (components == 4)
      cmyk_to_rgb(from, image.row(y - region.y), region.width, s.jpeg.saw_Adobe_marker);
    else
      std::memcpy(image.row(y - region.y), from,
                  static_cast<std::size_t>(region.width) * components);
  }
  // Reading on to the end would find damage below the region, at the price of decoding it.
  if (region.y + region.height == static_cast<int>(s.jpeg.output_height))
    jpeg_finish_decompress(&s.jpeg);
  return true;
}

Result<Image> read_region(Session& s, Rect region) {
  // Every row is written, or an error is returned.
  Image image =
      scratch_image(region.width, region.height, s.jpeg.out_color_space == JCS_GRAYSCALE ? 1 : 3);
  if (!read_rows(s, region, image) || s.damaged) return invalid("corrupt JPEG: {}", s.problem);
  return image;
}

Status open_jpeg(Session& s, std::span<const std::byte> bytes, ImageLimits limits) {
  if (!read_header(s, bytes) || s.damaged) return invalid("not a readable JPEG: {}", s.problem);
  if (std::int64_t{s.jpeg.image_width} * s.jpeg.image_height > limits.max_pixels)
    return invalid("a JPEG of {}x{} is over the limit of {} pixels", s.jpeg.image_width,
                   s.jpeg.image_height, limits.max_pixels);
  return {};
}

}  // namespace

Result<Image> decode_jpeg(std::span<const std::byte> bytes, ImageLimits limits) {
  Session s;
  TENON_TRY(open_jpeg(s, bytes, limits));
  return read_region(
      s, {0, 0, static_cast<int>(s.jpeg.output_width), static_cast<int>(s.jpeg.output_height)});
}

Result<ImageInfo> jpeg_info(std::span<const std::byte> bytes, ImageLimits limits) {
  Session s;
  TENON_TRY(open_jpeg(s, bytes, limits));
  return ImageInfo{static_cast<int>(s.jpeg.output_width), static_cast<int>(s.jpeg.output_height),
                   s.jpeg.out_color_space == JCS_GRAYSCALE ? 1 : 3};
}

Result<Image> decode_jpeg_region(std::span<const std::byte> bytes, Rect region,
                                 ImageLimits limits) {
  Session s;
  TENON_TRY(open_jpeg(s, bytes, limits));
  TENON_TRY(check_region(region, static_cast<int>(s.jpeg.output_width),
                         static_cast<int>(s.jpeg.output_height)));
  return read_region(s, region);
}

}  // namespace tenon::dataset
