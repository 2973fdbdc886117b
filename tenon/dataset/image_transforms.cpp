// Pictures: decoding as late and as little as possible, then geometry on bytes, then normalising.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "tenon/dataset/spare_buffers_internal.h"
#include "tenon/dataset/transform.h"

namespace tenon::dataset {
namespace {

class Picture : public Transform {
 public:
  explicit Picture(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  Result<Fields> fields(const Fields& before) const override {
    TENON_TRY(expect_first(before, "image", name_));
    const Field& f = before[0];
    if (f.dtype != DType::u8 || (f.dims.size() != 3 && f.dims.size() != 2))
      return invalid("{} needs a u8 picture, not {} {}", name_, tenon::name(f.dtype),
                     to_text(f.dims));
    Fields after = before;
    Dims dims = f.dims;
    if (dims.size() == 2) dims.push_back(1);
    after[0].dims = shape(dims);
    return after;
  }
  Status apply(Item& item) const override { return change(item.values[0], item.random); }

 protected:
  virtual Dims shape(const Dims& before) const = 0;
  virtual Status change(Value& value, CounterRandom& random) const = 0;

 private:
  std::string name_;
};

class Decode : public Picture {
 public:
  Decode() : Picture("decode") {}

 protected:
  Dims shape(const Dims& before) const override { return before; }
  Status change(Value& value, CounterRandom&) const override {
    put_picture(value, TENON_TRY(take_picture(value)));
    return {};
  }
};

class Resize : public Picture {
 public:
  Resize(int height, int width, bool keep_ratio, Interpolation how)
      : Picture("resize"), height_(height), width_(width), keep_ratio_(keep_ratio), how_(how) {}

 protected:
  Dims shape(const Dims& before) const override { return {height_, width_, before[2]}; }
  Status change(Value& value, CounterRandom&) const override {
    const Image p = TENON_TRY(take_picture(value));
    if (!keep_ratio_) {
      put_picture(value, resize(p, width_, height_, how_));
      return {};
    }
    const double scale =
        std::max(static_cast<double>(width_) / p.width, static_cast<double>(height_) / p.height);
    const int w = std::max(width_, static_cast<int>(std::lround(p.width * scale))),
              h = std::max(height_, static_cast<int>(std::lround(p.height * scale)));
    put_picture(
        value, crop(resize(p, w, h, how_), {(w - width_) / 2, (h - height_) / 2, width_, height_}));
    return {};
  }

 private:
  int height_, width_;
  bool keep_ratio_;
  Interpolation how_;
};

// The stretch at (x, y), which may reach beyond the picture, where there is zero.
Image window_of(const Image& p, int x, int y, int width, int height) {
  Image out = make_image(width, height, p.channels);
  const int left = std::max(0, -x), right = std::min(width, p.width - x);
  for (int r = std::max(0, -y); r < std::min(height, p.height - y) && left < right; ++r)
    std::memcpy(out.row(r) + static_cast<std::size_t>(left) * p.channels,
                p.row(y + r) + static_cast<std::size_t>(x + left) * p.channels,
                static_cast<std::size_t>(right - left) * p.channels);
  return out;
}

class Crop : public Picture {
 public:
  Crop(int height, int width, int padding, bool random)
      : Picture(random ? "random_crop" : "center_crop"),
        height_(height),
        width_(width),
        padding_(padding),
        random_(random) {}

 protected:
  Dims shape(const Dims& before) const override { return {height_, width_, before[2]}; }
  Status change(Value& value, CounterRandom& random) const override {
    const Image p = TENON_TRY(take_picture(value));
    const int spare_x = p.width + 2 * padding_ - width_,
              spare_y = p.height + 2 * padding_ - height_;
    if (random_ && (spare_x < 0 || spare_y < 0))
      return invalid("a picture of {}x{} is smaller than the crop of {}x{}", p.width, p.height,
                     width_, height_);
    int x = spare_x / 2, y = spare_y / 2;
    if (random_) {
      x = static_cast<int>(random.below(static_cast<std::uint32_t>(spare_x + 1)));
      y = static_cast<int>(random.below(static_cast<std::uint32_t>(spare_y + 1)));
    }
    put_picture(value, window_of(p, x - padding_, y - padding_, width_, height_));
    return {};
  }

 private:
  int height_, width_, padding_;
  bool random_;
};

class RandomResizedCrop : public Picture {
 public:
  RandomResizedCrop(int height, int width, std::pair<float, float> area,
                    std::pair<float, float> ratio, Interpolation how)
      : Picture("random_resized_crop"),
        height_(height),
        width_(width),
        area_(area),
        ratio_(ratio),
        how_(how) {}

 protected:
  Dims shape(const Dims& before) const override { return {height_, width_, before[2]}; }
  Status change(Value& value, CounterRandom& random) const override {
    Image part;
    if (value.encoded) {
      const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(value.data),
                                             value.bytes());
      const ImageInfo info = TENON_TRY(image_info(bytes));
      part = to_color(TENON_TRY(decode_region(bytes, choose(info.width, info.height, random))),
                      value.color, value.background);
    } else {
      const Image whole = TENON_TRY(take_picture(value));
      part = crop(whole, choose(whole.width, whole.height, random));
    }
    put_picture(value, resize(part, width_, height_, how_));
    give_spare(std::move(part.pixels));
    return {};
  }

 private:
  Rect choose(int width, int height, CounterRandom& random) const {
    const double whole = static_cast<double>(width) * height;
    for (int tries = 0; tries < 10; ++tries) {
      const double area = whole * random.uniform(area_.first, area_.second);
      const double ratio =
          std::exp(random.uniform(std::log(ratio_.first), std::log(ratio_.second)));
      const int w = static_cast<int>(std::lround(std::sqrt(area * ratio))),
                h = static_cast<int>(std::lround(std::sqrt(area / ratio)));
      if (w < 1 || h < 1 || w > width || h > height) continue;
      const int x = static_cast<int>(random.below(static_cast<std::uint32_t>(width - w + 1)));
      return {x, static_cast<int>(random.below(static_cast<std::uint32_t>(height - h + 1))), w, h};
    }
    // The largest part in the middle whose aspect is allowed.
    const double aspect = static_cast<double>(width) / height;
    const int w = aspect > ratio_.second
                      ? std::max(1, static_cast<int>(std::lround(height * ratio_.second)))
                      : width;
    const int h = aspect < ratio_.first
                      ? std::max(1, static_cast<int>(std::lround(width / ratio_.first)))
                      : height;
    return {(width - w) / 2, (height - h) / 2, w, h};
  }
  int height_, width_;
  std::pair<float, float> area_, ratio_;
  Interpolation how_;
};

class Flip : public Picture {
 public:
  explicit Flip(float probability) : Picture("random_flip"), probability_(probability) {}

 protected:
  Dims shape(const Dims& before) const override { return before; }
  Status change(Value& value, CounterRandom& random) const override {
    if (random.chance(probability_))
      put_picture(value, flip_horizontal(TENON_TRY(take_picture(value))));
    return {};
  }

 private:
  float probability_;
};

class Jitter : public Picture {
 public:
  Jitter(float brightness, float contrast, float saturation)
      : Picture("color_jitter"),
        brightness_(brightness),
        contrast_(contrast),
        saturation_(saturation) {}

 protected:
  Dims shape(const Dims& before) const override { return before; }
  Status change(Value& value, CounterRandom& random) const override {
    Image p = TENON_TRY(take_picture(value));
    const float b = random.uniform(1 - brightness_, 1 + brightness_),
                c = random.uniform(1 - contrast_, 1 + contrast_),
                s = random.uniform(1 - saturation_, 1 + saturation_);
    double sum = 0;
    for (auto v : p.pixels) sum += v;
    const float mean =
        p.pixels.empty() ? 0 : b * static_cast<float>(sum / static_cast<double>(p.pixels.size()));
    const auto n = static_cast<std::size_t>(p.channels);
    for (std::size_t i = 0; i + n <= p.pixels.size(); i += n) {
      float grey = 0;
      for (std::size_t k = 0; k < n; ++k)
        grey += static_cast<float>(p.pixels[i + k]) / static_cast<float>(n);
      for (std::size_t k = 0; k < n; ++k) {
        const float saturated = grey + (static_cast<float>(p.pixels[i + k]) - grey) * s;
        p.pixels[i + k] = static_cast<std::uint8_t>(
            std::clamp(mean + (saturated * b - mean) * c + 0.5f, 0.0f, 255.0f));
      }
    }
    put_picture(value, std::move(p));
    return {};
  }

 private:
  float brightness_, contrast_, saturation_;
};

class Normalize : public Picture {
 public:
  Normalize(std::vector<float> mean, std::vector<float> std)
      : Picture("normalize"), mean_(std::move(mean)), std_(std::move(std)) {}
  Result<Fields> fields(const Fields& before) const override {
    Fields after = TENON_TRY(Picture::fields(before));
    after[0].dtype = DType::f32;
    const std::int64_t channels = after[0].dims[0];
    for (const auto* list : {&mean_, &std_})
      if (list->size() != 1 && static_cast<std::int64_t>(list->size()) != channels)
        return invalid("normalize: {} numbers for {} channels", list->size(), channels);
    return after;
  }

 protected:
  Dims shape(const Dims& before) const override { return {before[2], before[0], before[1]}; }
  Status change(Value& value, CounterRandom&) const override {
    if (value.encoded) put_picture(value, TENON_TRY(take_picture(value)));
    const std::int64_t channels = value.dims.size() == 3 ? value.dims[2] : 1;
    const auto plane = static_cast<std::size_t>(value.dims[0] * value.dims[1]),
               n = static_cast<std::size_t>(channels);
    // The source bytes may lie in the value's own storage, which is about to be overwritten.
    std::vector<std::uint8_t> own = std::move(value.storage);
    const std::uint8_t* bytes = value.data;
    value.storage = take_spare(plane * n * sizeof(float));
    const Dims dims = {channels, value.dims[0], value.dims[1]};
    auto* out = reinterpret_cast<float*>(value.own(DType::f32, dims));
    for (std::size_t k = 0; k < n; ++k) {
      const float std = std_[std_.size() == 1 ? 0 : k], scale = 1 / (255 * std),
                  shift = -mean_[mean_.size() == 1 ? 0 : k] / std;
      if (n == 1)
        for (std::size_t i = 0; i < plane; ++i)
          out[i] = static_cast<float>(bytes[i]) * scale + shift;
      else
        for (std::size_t i = 0; i < plane; ++i)
          out[k * plane + i] = static_cast<float>(bytes[i * n + k]) * scale + shift;
    }
    give_spare(std::move(own));
    return {};
  }

 private:
  std::vector<float> mean_, std_;
};

class Erase : public Transform {
 public:
  Erase(float probability, std::pair<float, float> area) : probability_(probability), area_(area) {}
  std::string name() const override { return "random_erase"; }
  Result<Fields> fields(const Fields& before) const override {
    TENON_TRY(expect_first(before, "image", "random_erase"));
    if (before[0].dtype != DType::f32 || before[0].dims.size() != 3)
      return invalid("random_erase stands after normalize");
    return before;
  }
  Status apply(Item& item) const override {
    if (!item.random.chance(probability_)) return {};
    Value& v = item.values[0];
    const auto height = v.dims[1], width = v.dims[2];
    for (int tries = 0; tries < 10; ++tries) {
      const double area =
          static_cast<double>(height * width) * item.random.uniform(area_.first, area_.second);
      const double ratio = std::exp(item.random.uniform(std::log(0.3f), std::log(3.3f)));
      const auto h = std::lround(std::sqrt(area * ratio)), w = std::lround(std::sqrt(area / ratio));
      if (h < 1 || w < 1 || h >= height || w >= width) continue;
      const auto y = item.random.below(static_cast<std::uint32_t>(height - h + 1)),
                 x = item.random.below(static_cast<std::uint32_t>(width - w + 1));
      auto* out = reinterpret_cast<float*>(v.writable());
      for (std::int64_t c = 0; c < v.dims[0]; ++c)
        for (std::int64_t r = 0; r < h; ++r)
          std::fill_n(out + (c * height + y + r) * width + x, w, 0.0f);
      break;
    }
    return {};
  }

 private:
  float probability_;
  std::pair<float, float> area_;
};

}  // namespace

Status expect_first(const Fields& fields, std::string_view field, std::string_view transform) {
  if (!fields.empty() && fields[0].name == field) return {};
  return invalid("{} needs '{}' as the first field", transform, field);
}

Result<Image> take_picture(Value& value) {
  if (value.encoded)
    return to_color(
        TENON_TRY(decode_image({reinterpret_cast<const std::byte*>(value.data), value.bytes()})),
        value.color, value.background);
  Image p;
  p.height = static_cast<int>(value.dims[0]);
  p.width = static_cast<int>(value.dims[1]);
  p.channels = value.dims.size() == 3 ? static_cast<int>(value.dims[2]) : 1;
  if (value.data == value.storage.data())
    p.pixels = std::move(value.storage);
  else
    p.pixels.assign(value.data, value.data + value.bytes());
  return p;
}

void put_picture(Value& value, Image&& picture) {
  give_spare(std::move(value.storage));
  value.storage = std::move(picture.pixels);
  value.borrow(DType::u8, {picture.height, picture.width, picture.channels}, value.storage.data());
}

TransformPtr decode_picture() { return std::make_shared<Decode>(); }
TransformPtr resize_picture(int height, int width, bool keep_ratio, Interpolation how) {
  return std::make_shared<Resize>(height, width, keep_ratio, how);
}
TransformPtr center_crop(int height, int width) {
  return std::make_shared<Crop>(height, width, 0, false);
}
TransformPtr random_crop(int height, int width, int padding) {
  return std::make_shared<Crop>(height, width, padding, true);
}
TransformPtr random_resized_crop(int height, int width, std::pair<float, float> area,
                                 std::pair<float, float> ratio, Interpolation how) {
  return std::make_shared<RandomResizedCrop>(height, width, area, ratio, how);
}
TransformPtr random_flip(float probability) { return std::make_shared<Flip>(probability); }
TransformPtr color_jitter(float b, float c, float s) { return std::make_shared<Jitter>(b, c, s); }
TransformPtr normalize_picture(std::vector<float> mean, std::vector<float> std) {
  return std::make_shared<Normalize>(std::move(mean), std::move(std));
}
TransformPtr random_erase(float probability, std::pair<float, float> area) {
  return std::make_shared<Erase>(probability, area);
}

}  // namespace tenon::dataset
