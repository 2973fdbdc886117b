// Pictures of every kind: what decodes has the size that its head says, whole and in part.
#include "tenon/dataset/image.h"
#include "tests/fuzz/entry.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon::dataset;
  const auto bytes = tenon::fuzz::bytes(data, size);
  const ImageLimits limits{.max_pixels = 1 << 20};
  const auto info = image_info(bytes, limits);
  const auto image = decode_image(bytes, limits);
  if (!image.ok()) return 0;
  TENON_CHECK(info.ok(), "decodes, but its head does not: {}", info.error().text());
  TENON_CHECK(info->width == image->width && info->height == image->height, "{}x{} and {}x{}",
              info->width, info->height, image->width, image->height);
  const Rect half{0, 0, (image->width + 1) / 2, (image->height + 1) / 2};
  if (const auto part = decode_region(bytes, half, limits); part.ok())
    TENON_CHECK(part->width == half.width && part->height == half.height, "a region of {}x{}",
                part->width, part->height);
  return 0;
}
