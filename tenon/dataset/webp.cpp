// WebP through libwebp.
#include <webp/decode.h>

#include "tenon/dataset/image.h"
#include "tenon/dataset/image_formats_internal.h"

namespace tenon::dataset {

Result<ImageInfo> webp_info(std::span<const std::byte> bytes, ImageLimits limits) {
  WebPBitstreamFeatures features;
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  if (WebPGetFeatures(data, bytes.size(), &features) != VP8_STATUS_OK)
    return invalid("the WebP header is corrupt or cut off");
  if (features.has_animation) return unsupported("an animated WebP picture");
  return checked_info(features.width, features.height, features.has_alpha ? 4 : 3, limits);
}

Result<Image> decode_webp(std::span<const std::byte> bytes, ImageLimits limits) {
  const ImageInfo info = TENON_TRY(webp_info(bytes, limits));
  Image image = make_image(info.width, info.height, info.channels);
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const auto decode = info.channels == 4 ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  if (!decode(data, bytes.size(), image.pixels.data(), image.pixels.size(),
              info.width * info.channels))
    return invalid("the WebP data are corrupt or cut off");
  return image;
}

}  // namespace tenon::dataset
