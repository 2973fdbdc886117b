// image_decoder(bytes; pixel_format): the pixels of an encoded picture.
#include "tenon/dataset/image.h"
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Result<dataset::Color> color_of(const Call& c) {
  const std::string& format = c.text("pixel_format");
  if (format == "RGB") return dataset::Color::rgb;
  if (format == "BGR") return dataset::Color::bgr;
  if (format == "Grayscale") return dataset::Color::gray;
  return invalid("image_decoder: pixel_format is '{}' but must be RGB, BGR or Grayscale", format);
}

Result<Types> infer(const Call& c) {
  const dataset::Color color = TENON_TRY(color_of(c));
  TENON_EXPECT(!c.in(0).ranked() || c.in(0).ndim() == 1, "bytes.ndim == 1", c.in(0));
  return Types{Type(DType::u8, {c.fresh_dim("height"), c.fresh_dim("width"),
                                Dim(color == dataset::Color::gray ? 1 : 3)})};
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& bytes = e.in(0);
  const auto image = TENON_TRY(dataset::decode_image({bytes.raw(), bytes.bytes()}));
  return Datums{Datum(dataset::to_tensor(dataset::to_color(image, TENON_TRY(color_of(e.call)))))};
}

// About 100 operations a pixel, one byte of the stream for each pixel
Cost cost(const Call& c) { return {c.in(0).count() * Dim(100), c.bytes_in(), c.bytes_out()}; }

}  // namespace

OpPage image_decoder() {
  // A picture of two grey pixels, 10 and 200, as portable graymap.
  const std::string picture = "P5\n2 1\n255\n\x0a\xc8";
  Tensor bytes(DType::u8, {static_cast<std::int64_t>(picture.size())});
  std::memcpy(bytes.raw(), picture.data(), picture.size());
  return {
      .name = "image_decoder",
      .doc =
          "the pixels [height, width, channels] of a JPEG, PNG, BMP, TIFF, WebP, portable anymap "
          "or JPEG 2000 file, in the channels that pixel_format names",
      .inputs = {{"bytes", TypeSet::one(DType::u8)}},
      .outputs = {"image"},
      .attrs = {{"pixel_format", "RGB"}},
      .traits = {Trait::data_dependent},
      .infer = infer,
      .eval = eval,
      .decompose = none("core: reads file formats"),
      .gradient = none("integer result"),
      .cost = cost,
      .sharding = none("a part of a file is no picture"),
      .samples = {sample({{}}).given(0, bytes),
                  sample({{}}).given(0, bytes).with({{"pixel_format", "Grayscale"}}),
                  rejects({{}}, "must be RGB").given(0, bytes).with({{"pixel_format", "CMYK"}})}};
}

}  // namespace tenon::ops
