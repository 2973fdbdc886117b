// Sizes, windows, rows: the arithmetic between files and tensors.
#include "tenon/dataset/prepare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tenon::dataset {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 30;

int rounded_to(double value, int multiple) {
  return std::max(multiple, static_cast<int>(std::lround(value / multiple)) * multiple);
}

struct Size {
  int width, height;
};

// The size that a picture takes when a recipe leaves one side or both open.
Size target_size(const Image& p, const ImageInput& o) {
  if (o.width && o.height) return {o.width, o.height};
  const double w = p.width, h = p.height;
  if (o.height) return {rounded_to(o.height * w / h, o.multiple), o.height};
  if (o.width) return {o.width, rounded_to(o.width * h / w, o.multiple)};
  double scale = 1;
  if (o.longest) scale = o.longest / std::max(w, h);
  if (o.shortest && std::min(w, h) * scale < o.shortest) scale = o.shortest / std::min(w, h);
  return {rounded_to(w * scale, o.multiple), rounded_to(h * scale, o.multiple)};
}

// The picture in the wanted size; `place` receives where the source lies in it.
Image placed_picture(const Image& p, const ImageInput& o, Placement& place) {
  const Size size = target_size(p, o);
  place = {p.width,
           p.height,
           size.width,
           size.height,
           static_cast<double>(size.width) / p.width,
           static_cast<double>(size.height) / p.height,
           0,
           0};
  if (o.fit == Fit::stretch) return resize(p, size.width, size.height, o.interpolation);
  const double scale = o.fit == Fit::fit ? std::min(place.scale_x, place.scale_y)
                                         : std::max(place.scale_x, place.scale_y);
  const int w = std::max(1, static_cast<int>(std::lround(p.width * scale))),
            h = std::max(1, static_cast<int>(std::lround(p.height * scale)));
  const Image scaled = resize(p, w, h, o.interpolation);
  const int dx = (size.width - w) / 2, dy = (size.height - h) / 2;  // negative when cropping
  place = {p.width,
           p.height,
           size.width,
           size.height,
           static_cast<double>(w) / p.width,
           static_cast<double>(h) / p.height,
           static_cast<double>(dx),
           static_cast<double>(dy)};
  if (o.fit == Fit::crop) return crop(scaled, {-dx, -dy, size.width, size.height});
  Image out = make_image(size.width, size.height, p.channels);
  std::fill(out.pixels.begin(), out.pixels.end(), static_cast<std::uint8_t>(o.pad));
  for (int y = 0; y < h; ++y)
    std::copy_n(scaled.row(y), static_cast<std::size_t>(w) * p.channels,
                out.row(y + dy) + static_cast<std::size_t>(dx) * p.channels);
  return out;
}

Tensor normalised(const Image& p, const ImageInput& o) {
  const int c = p.channels;
  Tensor t(DType::f32,
           o.channels_first ? Dims{1, c, p.height, p.width} : Dims{1, p.height, p.width, c});
  float* out = t.data<float>().data();
  // 256 values a channel: the division is done once for each of them.
  std::vector<float> table(static_cast<std::size_t>(c) * 256);
  for (int k = 0; k < c; ++k)
    for (int v = 0; v < 256; ++v) {
      const double mean = o.mean.size() == 1 ? o.mean[0] : o.mean[static_cast<std::size_t>(k)];
      const double std = o.std.size() == 1 ? o.std[0] : o.std[static_cast<std::size_t>(k)];
      table[static_cast<std::size_t>(k) * 256 + static_cast<std::size_t>(v)] =
          static_cast<float>((v * o.scale - mean) / std);
    }
  const std::size_t plane = static_cast<std::size_t>(p.width) * p.height;
  for (std::size_t i = 0; i < plane; ++i)
    for (int k = 0; k < c; ++k)
      out[o.channels_first ? static_cast<std::size_t>(k) * plane + i
                           : i * static_cast<std::size_t>(c) + static_cast<std::size_t>(k)] =
          table[static_cast<std::size_t>(k) * 256 +
                p.pixels[i * static_cast<std::size_t>(c) + static_cast<std::size_t>(k)]];
  return t;
}

Result<Tensor> converted(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  if (t.dtype() == DType::string || dtype == DType::string || is_complex(t.dtype()) ||
      is_complex(dtype))
    return unsupported("conversion of {} to {}", name(t.dtype()), name(dtype));
  return is_integer(t.dtype()) ? from_int64s(to_int64s(t), dtype, t.dims())
                               : from_doubles(to_doubles(t), dtype, t.dims());
}

std::vector<std::string> rows_of(std::string_view text, bool each_line) {
  std::vector<std::string> rows;
  if (!each_line) {
    rows.emplace_back(text);
    return rows;
  }
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) rows.emplace_back(line);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return rows;
}

const Tensor* find_named(const NamedTensors& tensors, std::string_view name) {
  for (const auto& [key, tensor] : tensors)
    if (key == name) return &tensor;
  return nullptr;
}

// rows [T, F] -> [windows, frame, F], or the last window alone.
Result<Tensor> windows_of(const Tensor& rows, const TensorInput& o) {
  const std::int64_t t = rows.dim(0), f = rows.dim(1);
  if (t < o.frame) return invalid("'{}' holds {} rows but a window needs {}", o.source, t, o.frame);
  const std::int64_t all = (t - o.frame) / o.hop + 1, first = o.last ? all - 1 : 0;
  if ((all - first) * o.frame * f > kMaxElements)
    return invalid("the windows over '{}' are too large", o.source);
  Tensor out(rows.dtype(), {all - first, o.frame, f});
  const std::size_t row = static_cast<std::size_t>(f) *
                          static_cast<std::size_t>(size_of(rows.dtype())),
                    window = row * static_cast<std::size_t>(o.frame);
  for (std::int64_t i = first; i < all; ++i)
    std::memcpy(out.raw() + static_cast<std::size_t>(i - first) * window,
                rows.raw() + static_cast<std::size_t>(i * o.hop) * row, window);
  return out;
}

}  // namespace

Result<Tensor> shaped(const Tensor& t, const Dims& dims) {
  if (dims.empty()) return t;
  Dims full = dims;
  std::int64_t known = 1;
  for (auto d : dims)
    if (d != -1 && __builtin_mul_overflow(known, d, &known))
      return invalid("dims {} are too large", to_text(dims));
  for (auto& d : full)
    if (d == -1) d = known ? t.count() / known : 0;
  if (num_elements(full) != t.count())
    return invalid("{} elements do not fit dims {}", t.count(), to_text(dims));
  return t.reshaped(full);
}

Result<PreparedImage> prepare_image(const Image& picture, const RecipeInput& input) {
  const ImageInput& o = input.image;
  if (picture.width < 1 || picture.height < 1) return invalid("an empty picture");
  Image p = to_color(picture, o.color, o.background);
  const Size size = target_size(p, o);
  if (std::int64_t{size.width} * size.height > kMaxElements / 4)
    return invalid("a picture of {}x{} would become {}x{}", p.width, p.height, size.width,
                   size.height);
  PreparedImage out;
  out.tensor = TENON_TRY(converted(normalised(placed_picture(p, o, out.placement), o),
                                   input.dtype.value_or(DType::f32)));
  return out;
}

Result<PreparedAudio> prepare_audio(const Audio& audio, const RecipeInput& input) {
  const AudioInput& o = input.audio;
  std::vector<float> samples = resample(to_mono(audio), audio.sample_rate, o.sample_rate);
  if (o.seconds > 0)
    samples.resize(std::min(samples.size(), static_cast<std::size_t>(o.seconds * o.sample_rate)));
  if (samples.empty()) return invalid("the sound holds no samples");
  for (float& s : samples) s *= static_cast<float>(o.scale);
  const auto size = static_cast<std::int64_t>(samples.size());
  const std::int64_t frame = o.frame ? o.frame : size, hop = o.frame ? o.hop : size;
  PreparedAudio out;
  for (std::int64_t start = 0; start < size; start += hop) {
    const bool whole = start + frame <= size;
    if (!whole && !o.pad_last && !out.windows.empty()) break;
    std::vector<float> window(static_cast<std::size_t>(o.context + frame), 0.0f);
    for (std::int64_t i = std::max<std::int64_t>(0, start - o.context);
         i < std::min(size, start + frame); ++i)
      window[static_cast<std::size_t>(i - start + o.context)] =
          samples[static_cast<std::size_t>(i)];
    const Tensor t = TENON_TRY(shaped(Tensor::vector(window), o.dims));
    out.windows.push_back(TENON_TRY(converted(t, input.dtype.value_or(DType::f32))));
    out.starts.push_back(start);
    if (!whole) break;
  }
  return out;
}

Result<PreparedText> prepare_text(std::string_view text, const RecipeInput& input,
                                  const Tokenizer& tokenizer) {
  const TextInput& o = input.text;
  PreparedText out;
  out.texts = rows_of(text, o.each_line);
  if (out.texts.empty()) return invalid("the text holds no line");
  std::vector<std::vector<TokenId>> rows;
  std::size_t longest = 1;
  for (const std::string& row : out.texts) {
    rows.push_back(tokenizer.encode_framed(row, o.max_length));
    longest = std::max(longest, rows.back().size());
  }
  const Dims dims = {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(longest)};
  const DType dtype = input.dtype.value_or(DType::i64);
  std::vector<std::int64_t> ids(rows.size() * longest, tokenizer.pad().value_or(0)),
      mask(ids.size(), 0);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      ids[r * longest + i] = rows[r][i];
      mask[r * longest + i] = 1;
    }
  out.tensors.emplace_back(input.name, from_int64s(ids, dtype, dims));
  if (!o.mask_name.empty()) out.tensors.emplace_back(o.mask_name, from_int64s(mask, dtype, dims));
  if (!o.types_name.empty()) out.tensors.emplace_back(o.types_name, Tensor::zeros(dtype, dims));
  return out;
}

Result<Tensor> prepare_tensor(const RecipeInput& input, const NamedTensors& previous) {
  const TensorInput& o = input.tensor;
  if (o.value.defined()) return o.value;
  const Tensor* source = find_named(previous, o.source);
  if (!source) return not_found("the stage before has no output '{}'", o.source);
  Tensor t = *source;
  if (o.scale != 1 || o.offset != 0) {
    std::vector<double> values = to_doubles(t);
    for (double& v : values) v = v * o.scale + o.offset;
    t = from_doubles(values, t.dtype(), t.dims());
  }
  if (o.frame) {
    if (t.ndim() == 0) return invalid("'{}' is a single number and has no rows", o.source);
    t = TENON_TRY(windows_of(TENON_TRY(shaped(t, {-1, t.dim(-1)})), o));
  }
  return converted(TENON_TRY(shaped(t, o.dims)), input.dtype.value_or(t.dtype()));
}

}  // namespace tenon::dataset
