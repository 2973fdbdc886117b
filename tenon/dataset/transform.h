// What is done to each sample on its way from the source into a batch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/dataset/resize.h"
#include "tenon/dataset/source.h"

namespace tenon::dataset {

class Transform {
 public:
  virtual ~Transform() = default;
  virtual std::string name() const = 0;
  /// The fields after it; an error where the fields before do not suit it.
  virtual Result<Fields> fields(const Fields& before) const = 0;
  /// Changes the sample in place. Random choices come from item.random alone.
  virtual Status apply(Item& item) const = 0;
};
using TransformPtr = std::shared_ptr<const Transform>;

// Pictures: each works on field `image`, the first one, a u8 [height, width, channels] (or [height,
// width] for grey) or a picture file, which the first of them decodes.

/// Decodes picture files, for pipelines that change nothing else.
TransformPtr decode_picture();
/// To height x width; `keep_ratio` scales so that both sides are at least that, and cuts the
/// middle.
TransformPtr resize_picture(int height, int width, bool keep_ratio = false,
                            Interpolation interpolation = Interpolation::area);
TransformPtr center_crop(int height, int width);
/// A stretch of height x width at a random place of the picture with `padding` pixels of zero
/// around.
TransformPtr random_crop(int height, int width, int padding = 0);
/// A part of random area (a share within `area`) and aspect (width / height within `ratio`, uniform
/// in the logarithm), stretched to height x width; ten tries, then the middle. Files are decoded
/// there only.
TransformPtr random_resized_crop(int height, int width,
                                 std::pair<float, float> area = {0.08f, 1.0f},
                                 std::pair<float, float> ratio = {0.75f, 4.0f / 3},
                                 Interpolation interpolation = Interpolation::area);
TransformPtr random_flip(float probability = 0.5f);
/// Brightness, contrast and saturation multiplied by factors within 1 +- the given amounts.
TransformPtr color_jitter(float brightness, float contrast, float saturation);
/// To f32 [channels, height, width]: (pixel / 255 - mean) / std, one number or one a channel.
TransformPtr normalize_picture(std::vector<float> mean, std::vector<float> std);
/// With `probability` sets a rectangle of a random area (a share within `area`) to zero, after
/// normalize_picture (Zhong et al. 2017).
TransformPtr random_erase(float probability = 0.25f, std::pair<float, float> area = {0.02f, 0.33f});

// Sound: field `sound`, the first one, f32 [samples].

/// To the logarithm of mel energies, f32 [mels, frames]: Hann windows of `window` samples (a power
/// of two) every `hop`, the HTK mel scale up to half the rate, log(energy + 1e-6).
TransformPtr log_mel(int sample_rate, int window, int hop, int mels);
/// Multiplied by a random factor of up to +- `decibels`.
TransformPtr random_gain(float decibels);

/// Any floating or integer field to another element type.
TransformPtr convert_field(std::string field, DType dtype);

/// The picture in a value, taken out of it (or copied, where it is borrowed); decoded if it is a
/// file.
Result<Image> take_picture(Value& value);
/// Puts a picture back as u8 [height, width, channels].
void put_picture(Value& value, Image&& picture);
/// An error that names the transform unless `field` comes first, as in every source that has it.
Status expect_first(const Fields& fields, std::string_view field, std::string_view transform);

}  // namespace tenon::dataset
