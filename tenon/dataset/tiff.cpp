// TIFF through libtiff, the first picture of a file.
#include <tiffio.h>

#include <algorithm>
#include <cstring>

#include "tenon/dataset/image.h"
#include "tenon/dataset/image_formats_internal.h"

namespace tenon::dataset {
namespace {

// The file in memory, for libtiff's callbacks.
struct Source {
  std::span<const std::byte> bytes;
  std::size_t at = 0;
};

tmsize_t on_read(thandle_t handle, void* to, tmsize_t count) {
  auto* s = static_cast<Source*>(handle);
  if (s->at > s->bytes.size()) return 0;
  const auto n = std::min<std::size_t>(static_cast<std::size_t>(count), s->bytes.size() - s->at);
  std::memcpy(to, s->bytes.data() + s->at, n);
  s->at += n;
  return static_cast<tmsize_t>(n);
}
tmsize_t on_write(thandle_t, void*, tmsize_t) { return 0; }
toff_t on_seek(thandle_t handle, toff_t offset, int from) {
  auto* s = static_cast<Source*>(handle);
  s->at = static_cast<std::size_t>(offset) + (from == SEEK_CUR   ? s->at
                                              : from == SEEK_END ? s->bytes.size()
                                                                 : 0);
  return s->at;
}
int on_close(thandle_t) { return 0; }
toff_t on_size(thandle_t handle) { return static_cast<Source*>(handle)->bytes.size(); }
int on_map(thandle_t, void**, toff_t*) { return 0; }
void on_unmap(thandle_t, void*, toff_t) {}

struct Closer {
  void operator()(TIFF* t) const { TIFFClose(t); }
};
using File = std::unique_ptr<TIFF, Closer>;

File open(Source& source) {
  // Problems come back as results; the library prints nothing.
  TIFFSetErrorHandler(nullptr);
  TIFFSetWarningHandler(nullptr);
  return File(TIFFClientOpen("picture", "rm", &source, on_read, on_write, on_seek, on_close,
                             on_size, on_map, on_unmap));
}

Result<ImageInfo> info_of(TIFF* file, ImageLimits limits) {
  if (!file) return invalid("the TIFF header is corrupt or cut off");
  std::uint32_t width = 0, height = 0;
  std::uint16_t photometric = PHOTOMETRIC_RGB, samples = 1;
  TIFFGetField(file, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(file, TIFFTAG_IMAGELENGTH, &height);
  TIFFGetField(file, TIFFTAG_PHOTOMETRIC, &photometric);
  TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLESPERPIXEL, &samples);
  const bool gray = photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE;
  const int channels = gray                                            ? (samples > 1 ? 2 : 1)
                       : photometric == PHOTOMETRIC_RGB && samples > 3 ? 4
                                                                       : 3;
  return checked_info(width, height, channels, limits);
}

// Whether rows hold the picture's channels as they are: 8 bits each, side by side, from the top.
// Other pictures go through the library's conversion, which multiplies colours by their alpha.
bool is_plain(TIFF* file, const ImageInfo& info) {
  std::uint16_t bits = 1, samples = 1, planes = PLANARCONFIG_CONTIG, photometric = 0,
                orientation = ORIENTATION_TOPLEFT;
  TIFFGetFieldDefaulted(file, TIFFTAG_BITSPERSAMPLE, &bits);
  TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLESPERPIXEL, &samples);
  TIFFGetFieldDefaulted(file, TIFFTAG_PLANARCONFIG, &planes);
  TIFFGetFieldDefaulted(file, TIFFTAG_ORIENTATION, &orientation);
  TIFFGetField(file, TIFFTAG_PHOTOMETRIC, &photometric);
  return bits == 8 && planes == PLANARCONFIG_CONTIG && orientation == ORIENTATION_TOPLEFT &&
         samples == info.channels && !TIFFIsTiled(file) &&
         (photometric == PHOTOMETRIC_RGB || photometric == PHOTOMETRIC_MINISBLACK) &&
         TIFFScanlineSize(file) == static_cast<tmsize_t>(info.width) * info.channels;
}

Result<Image> read_rows(TIFF* file, const ImageInfo& info) {
  Image image = make_image(info.width, info.height, info.channels);
  for (int y = 0; y < info.height; ++y)
    if (TIFFReadScanline(file, image.row(y), static_cast<std::uint32_t>(y)) != 1)
      return invalid("the TIFF data are corrupt or cut off");
  return image;
}

}  // namespace

Result<ImageInfo> tiff_info(std::span<const std::byte> bytes, ImageLimits limits) {
  Source source{bytes};
  return info_of(open(source).get(), limits);
}

Result<Image> decode_tiff(std::span<const std::byte> bytes, ImageLimits limits) {
  Source source{bytes};
  const File file = open(source);
  const ImageInfo info = TENON_TRY(info_of(file.get(), limits));
  if (is_plain(file.get(), info)) return read_rows(file.get(), info);
  char why[1024] = "";
  if (!TIFFRGBAImageOK(file.get(), why)) return unsupported("the TIFF picture: {}", why);
  std::vector<std::uint32_t> raster(static_cast<std::size_t>(info.width) *
                                    static_cast<std::size_t>(info.height));
  const auto width = static_cast<std::uint32_t>(info.width),
             height = static_cast<std::uint32_t>(info.height);
  if (!TIFFReadRGBAImageOriented(file.get(), width, height, raster.data(), ORIENTATION_TOPLEFT, 1))
    return invalid("the TIFF data are corrupt or cut off");
  Image image = make_image(info.width, info.height, info.channels);
  std::uint8_t* to = image.pixels.data();
  for (const std::uint32_t p : raster) {
    const std::uint8_t rgba[4] = {
        static_cast<std::uint8_t>(TIFFGetR(p)), static_cast<std::uint8_t>(TIFFGetG(p)),
        static_cast<std::uint8_t>(TIFFGetB(p)), static_cast<std::uint8_t>(TIFFGetA(p))};
    for (int c = 0; c < info.channels; ++c)
      *to++ = info.channels == 2 && c == 1 ? rgba[3] : rgba[c];
  }
  return image;
}

}  // namespace tenon::dataset
