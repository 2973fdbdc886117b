// Sounds to log-mel pictures, and changes of type.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>

#include "tenon/dataset/transform.h"

namespace tenon::dataset {
namespace {

using Complex = std::complex<float>;

// Iterative radix-2 transform (Cooley and Tukey 1965); size a power of two.
void fourier(std::vector<Complex>& x, const std::vector<Complex>& roots) {
  const std::size_t n = x.size();
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    std::size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (std::size_t length = 2; length <= n; length *= 2)
    for (std::size_t start = 0; start < n; start += length)
      for (std::size_t k = 0; k < length / 2; ++k) {
        const Complex a = x[start + k], b = x[start + k + length / 2] * roots[k * (n / length)];
        x[start + k] = a + b;
        x[start + k + length / 2] = a - b;
      }
}

double to_mel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }  // the HTK formula
double from_mel(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

class LogMel : public Transform {
 public:
  LogMel(int sample_rate, int window, int hop, int mels) : window_(window), hop_(hop), mels_(mels) {
    const double pi = std::numbers::pi;
    for (int i = 0; i < window; ++i)
      hann_.push_back(static_cast<float>(0.5 - 0.5 * std::cos(2 * pi * i / window)));
    for (int i = 0; i < window / 2; ++i) roots_.emplace_back(std::polar(1.0, -2 * pi * i / window));
    const int bins = window / 2 + 1;
    filters_.assign(static_cast<std::size_t>(mels) * static_cast<std::size_t>(bins), 0);
    const auto edge = [&](int i) { return from_mel(to_mel(sample_rate / 2.0) * i / (mels + 1)); };
    for (int m = 0; m < mels; ++m)
      for (int b = 0; b < bins; ++b) {
        const double f = static_cast<double>(b) * sample_rate / window, low = edge(m),
                     middle = edge(m + 1), high = edge(m + 2);
        filters_[static_cast<std::size_t>(m) * static_cast<std::size_t>(bins) +
                 static_cast<std::size_t>(b)] =
            static_cast<float>(
                std::max(0.0, std::min((f - low) / (middle - low), (high - f) / (high - middle))));
      }
  }
  std::string name() const override { return "log_mel"; }
  Result<Fields> fields(const Fields& before) const override {
    TENON_TRY(expect_first(before, "sound", "log_mel"));
    if (before[0].dtype != DType::f32 || before[0].dims.size() != 1 || before[0].dims[0] < window_)
      return invalid("log_mel needs at least {} samples of f32", window_);
    Fields after = before;
    after[0].dims = {mels_, frames(before[0].dims[0])};
    return after;
  }
  Status apply(Item& item) const override {
    Value& v = item.values[0];
    thread_local std::vector<float> sound;
    thread_local std::vector<Complex> x;
    sound.assign(v.as<float>().begin(), v.as<float>().end());
    const std::int64_t n = frames(static_cast<std::int64_t>(sound.size()));
    auto* out = reinterpret_cast<float*>(v.own(DType::f32, {mels_, n}));
    const auto bins = static_cast<std::size_t>(window_ / 2 + 1);
    std::vector<float> power(bins);
    for (std::int64_t f = 0; f < n; ++f) {
      x.assign(static_cast<std::size_t>(window_), {});
      for (int i = 0; i < window_; ++i)
        x[static_cast<std::size_t>(i)] =
            sound[static_cast<std::size_t>(f * hop_ + i)] * hann_[static_cast<std::size_t>(i)];
      fourier(x, roots_);
      for (std::size_t b = 0; b < bins; ++b) power[b] = std::norm(x[b]);
      for (int m = 0; m < mels_; ++m) {
        float sum = 0;
        const float* w = filters_.data() + static_cast<std::size_t>(m) * bins;
        for (std::size_t b = 0; b < bins; ++b) sum += w[b] * power[b];
        out[m * n + f] = std::log(sum + 1e-6f);
      }
    }
    return {};
  }

 private:
  std::int64_t frames(std::int64_t samples) const { return (samples - window_) / hop_ + 1; }
  int window_, hop_, mels_;
  std::vector<float> hann_, filters_;
  std::vector<Complex> roots_;
};

class Gain : public Transform {
 public:
  explicit Gain(float decibels) : decibels_(decibels) {}
  std::string name() const override { return "random_gain"; }
  Result<Fields> fields(const Fields& before) const override {
    TENON_TRY(expect_first(before, "sound", "random_gain"));
    if (before[0].dtype != DType::f32) return invalid("random_gain needs a sound of f32");
    return before;
  }
  Status apply(Item& item) const override {
    const float factor = std::pow(10.0f, item.random.uniform(-decibels_, decibels_) / 20);
    auto* out = reinterpret_cast<float*>(item.values[0].writable());
    for (std::size_t i = 0; i < item.values[0].as<float>().size(); ++i) out[i] *= factor;
    return {};
  }

 private:
  float decibels_;
};

class Convert : public Transform {
 public:
  Convert(std::string field, DType dtype) : field_(std::move(field)), dtype_(dtype) {}
  std::string name() const override { return "convert"; }
  Result<Fields> fields(const Fields& before) const override {
    Fields after = before;
    at_ = static_cast<std::size_t>(std::find_if(before.begin(), before.end(),
                                                [&](const Field& f) { return f.name == field_; }) -
                                   before.begin());
    if (at_ == before.size()) return invalid("convert needs a field '{}'", field_);
    const DType from = before[at_].dtype;
    if (from == DType::string || dtype_ == DType::string || is_complex(from) || is_complex(dtype_))
      return unsupported("convert from {} to {}", tenon::name(from), tenon::name(dtype_));
    after[at_].dtype = dtype_;
    return after;
  }
  Status apply(Item& item) const override {
    Value& v = item.values[at_];
    Tensor t(v.dtype, v.dims);
    if (t.bytes()) std::memcpy(t.raw(), v.data, t.bytes());
    const Tensor c = is_integer(v.dtype) ? from_int64s(to_int64s(t), dtype_, t.dims())
                                         : from_doubles(to_doubles(t), dtype_, t.dims());
    std::uint8_t* to = v.own(dtype_, t.dims());
    if (c.bytes()) std::memcpy(to, c.raw(), c.bytes());
    return {};
  }

 private:
  std::string field_;
  DType dtype_;
  mutable std::size_t at_ = 0;  // set while the fields are checked, before any thread runs
};

}  // namespace

TransformPtr log_mel(int sample_rate, int window, int hop, int mels) {
  TENON_CHECK(
      std::has_single_bit(static_cast<unsigned>(window)) && hop > 0 && mels > 0 && sample_rate > 0,
      "window {}, hop {}, mels {}", window, hop, mels);
  return std::make_shared<LogMel>(sample_rate, window, hop, mels);
}
TransformPtr random_gain(float decibels) { return std::make_shared<Gain>(decibels); }
TransformPtr convert_field(std::string field, DType dtype) {
  return std::make_shared<Convert>(std::move(field), dtype);
}

}  // namespace tenon::dataset
