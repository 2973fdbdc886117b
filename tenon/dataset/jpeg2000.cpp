// JPEG 2000 through OpenJPEG: JP2 files and bare code streams.
#include <openjpeg.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "tenon/dataset/image.h"
#include "tenon/dataset/image_formats_internal.h"

namespace tenon::dataset {
namespace {

struct Source {
  std::span<const std::byte> bytes;
  std::size_t at = 0;
};

constexpr OPJ_SIZE_T kEnd = static_cast<OPJ_SIZE_T>(-1);

OPJ_SIZE_T on_read(void* to, OPJ_SIZE_T count, void* data) {
  auto* s = static_cast<Source*>(data);
  const std::size_t n = std::min<std::size_t>(count, s->bytes.size() - s->at);
  if (n == 0) return kEnd;
  std::memcpy(to, s->bytes.data() + s->at, n);
  s->at += n;
  return n;
}
OPJ_OFF_T on_skip(OPJ_OFF_T count, void* data) {
  auto* s = static_cast<Source*>(data);
  if (count < 0) return -1;
  const std::size_t n = std::min(static_cast<std::size_t>(count), s->bytes.size() - s->at);
  s->at += n;
  return n == 0 && count > 0 ? -1 : static_cast<OPJ_OFF_T>(n);
}
OPJ_BOOL on_seek(OPJ_OFF_T at, void* data) {
  auto* s = static_cast<Source*>(data);
  if (at < 0 || static_cast<std::size_t>(at) > s->bytes.size()) return OPJ_FALSE;
  s->at = static_cast<std::size_t>(at);
  return OPJ_TRUE;
}

struct StreamCloser {
  void operator()(opj_stream_t* s) const { opj_stream_destroy(s); }
};
struct CodecCloser {
  void operator()(opj_codec_t* c) const { opj_destroy_codec(c); }
};
struct ImageCloser {
  void operator()(opj_image_t* i) const { opj_image_destroy(i); }
};

// A decoder with the header read.
struct Session {
  Source source;
  std::unique_ptr<opj_stream_t, StreamCloser> stream;
  std::unique_ptr<opj_codec_t, CodecCloser> codec;
  std::unique_ptr<opj_image_t, ImageCloser> image;
};

Status start(Session& s) {
  const bool bare =
      s.source.bytes.size() >= 4 && std::memcmp(s.source.bytes.data(), "\xff\x4f\xff\x51", 4) == 0;
  s.stream.reset(opj_stream_default_create(OPJ_TRUE));
  s.codec.reset(opj_create_decompress(bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
  if (!s.stream || !s.codec) return error(Code::out_of_memory, "no memory for a JPEG 2000 decoder");
  opj_stream_set_user_data(s.stream.get(), &s.source, nullptr);
  opj_stream_set_user_data_length(s.stream.get(), s.source.bytes.size());
  opj_stream_set_read_function(s.stream.get(), on_read);
  opj_stream_set_skip_function(s.stream.get(), on_skip);
  opj_stream_set_seek_function(s.stream.get(), on_seek);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* header = nullptr;
  const bool ok = opj_setup_decoder(s.codec.get(), &parameters) &&
                  opj_read_header(s.stream.get(), s.codec.get(), &header);
  s.image.reset(header);
  if (!ok || !header || header->numcomps == 0)
    return invalid("the JPEG 2000 header is corrupt or cut off");
  return {};
}

Result<ImageInfo> info_of(const opj_image_t& image, ImageLimits limits) {
  const auto& first = image.comps[0];
  if (image.numcomps > 4)
    return unsupported("a JPEG 2000 picture of {} components", image.numcomps);
  for (OPJ_UINT32 c = 0; c < image.numcomps; ++c)
    if (image.comps[c].dx != first.dx || image.comps[c].dy != first.dy)
      return unsupported("a JPEG 2000 picture whose components differ in size");
  return checked_info(first.w, first.h, static_cast<int>(image.numcomps), limits);
}

// Samples of any depth and sign brought to 8 bits.
std::uint8_t to_byte(const opj_image_comp_t& c, std::size_t i) {
  const std::int64_t v = c.data[i] + (c.sgnd ? std::int64_t{1} << (c.prec - 1) : 0);
  const std::int64_t scaled = c.prec > 8   ? v >> (c.prec - 8)
                              : c.prec < 8 ? v * 255 / ((std::int64_t{1} << c.prec) - 1)
                                           : v;
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(scaled, 0, 255));
}

}  // namespace

Result<ImageInfo> jpeg2000_info(std::span<const std::byte> bytes, ImageLimits limits) {
  Session s{.source = {bytes}, .stream = nullptr, .codec = nullptr, .image = nullptr};
  TENON_TRY(start(s));
  return info_of(*s.image, limits);
}

Result<Image> decode_jpeg2000(std::span<const std::byte> bytes, ImageLimits limits) {
  Session s{.source = {bytes}, .stream = nullptr, .codec = nullptr, .image = nullptr};
  TENON_TRY(start(s));
  const ImageInfo info = TENON_TRY(info_of(*s.image, limits));
  if (!opj_decode(s.codec.get(), s.stream.get(), s.image.get()) ||
      !opj_end_decompress(s.codec.get(), s.stream.get()))
    return invalid("the JPEG 2000 data are corrupt or cut off");
  if (s.image->color_space == OPJ_CLRSPC_SYCC || s.image->color_space == OPJ_CLRSPC_CMYK)
    return unsupported("a JPEG 2000 picture that is neither grey nor RGB");
  Image image = make_image(info.width, info.height, info.channels);
  const std::size_t count =
      static_cast<std::size_t>(info.width) * static_cast<std::size_t>(info.height);
  for (int c = 0; c < info.channels; ++c) {
    const opj_image_comp_t& component = s.image->comps[c];
    if (!component.data || component.w != static_cast<OPJ_UINT32>(info.width) ||
        component.h != static_cast<OPJ_UINT32>(info.height) || component.prec < 1 ||
        component.prec > 31)
      return invalid("the JPEG 2000 data are corrupt or cut off");
    for (std::size_t i = 0; i < count; ++i)
      image.pixels[i * static_cast<std::size_t>(info.channels) + static_cast<std::size_t>(c)] =
          to_byte(component, i);
  }
  return image;
}

}  // namespace tenon::dataset
