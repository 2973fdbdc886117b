// Separable resampling in fixed point, columns of a row first; the coefficient arithmetic is the
// one that Pillow documents in its resampling code, so that pictures agree to the bit.
#include "tenon/dataset/resize.h"

#include <algorithm>
#include <cmath>

#include "tenon/dataset/spare_buffers_internal.h"

namespace tenon::dataset {
namespace {

constexpr int kBits = 32 - 8 - 2;  // fraction bits of a coefficient; room for sign and overshoot

double triangle(double x) { return std::max(0.0, 1 - std::fabs(x)); }

double cubic(double x) {  // Keys 1981, a = -0.5
  x = std::fabs(x);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

// For each output position: the first input position and the weights from there on.
struct Taps {
  int per_output = 0;
  std::vector<int> first, count;
  std::vector<std::int32_t> weights;
};

Taps make_taps(int in, int out, double (*filter)(double), double support) {
  const double scale = static_cast<double>(in) / out, wide = std::max(scale, 1.0);
  support *= wide;
  Taps t;
  t.per_output = static_cast<int>(std::ceil(support)) * 2 + 1;
  t.weights.resize(static_cast<std::size_t>(out) * t.per_output);
  std::vector<double> w(static_cast<std::size_t>(t.per_output));
  for (int i = 0; i < out; ++i) {
    const double center = (i + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(center - support + 0.5));
    const int count = std::min(in, static_cast<int>(center + support + 0.5)) - first;
    double sum = 0;
    for (int k = 0; k < count; ++k) sum += w[k] = filter((k + first - center + 0.5) / wide);
    for (int k = 0; k < count; ++k) {
      const double normal = (sum != 0 ? w[k] / sum : w[k]) * (1 << kBits);
      t.weights[static_cast<std::size_t>(i) * t.per_output + k] =
          static_cast<std::int32_t>(normal < 0 ? normal - 0.5 : normal + 0.5);
    }
    t.first.push_back(first);
    t.count.push_back(count);
  }
  return t;
}

std::uint8_t rounded(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kBits, 0, 255));
}

// One version for each width of vectors, picked when the program starts. The arithmetic is on whole
// numbers, so all give the same.
#if defined(__x86_64__) && defined(__linux__)
#define TENON_EVERY_ISA __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TENON_EVERY_ISA
#endif

template <int C>
void filter_row(const std::uint8_t* from, std::uint8_t* to, int begin, int width, const Taps& t) {
  to += static_cast<std::size_t>(begin) * C;
  for (int x = begin; x < width; ++x) {
    const std::int32_t* w = t.weights.data() + static_cast<std::size_t>(x) * t.per_output;
    const std::uint8_t* p = from + static_cast<std::size_t>(t.first[x]) * C;
    std::int32_t sum[C];
    std::fill_n(sum, C, 1 << (kBits - 1));
    for (int k = 0; k < t.count[x]; ++k, p += C)
      for (int c = 0; c < C; ++c) sum[c] += p[c] * w[k];
    for (int c = 0; c < C; ++c) *to++ = rounded(sum[c]);
  }
}

// Three channels as four lanes: the fourth reads the next pixel and is dropped. Stops where that
// would reach beyond the row's end and returns how many pixels are done.
TENON_EVERY_ISA int filter_row_of_three(const std::uint8_t* from, int in_width, std::uint8_t* to,
                                        int width, const int* first, const int* count,
                                        const std::int32_t* weights, int per_output) {
  typedef std::uint8_t Bytes4 __attribute__((vector_size(4)));
  typedef std::int32_t Ints4 __attribute__((vector_size(16)));
  for (int x = 0; x < width; ++x) {
    if (first[x] + count[x] >= in_width) return x;
    const std::int32_t* w = weights + static_cast<std::size_t>(x) * per_output;
    const std::uint8_t* p = from + static_cast<std::size_t>(first[x]) * 3;
    Ints4 sum = {1 << (kBits - 1), 1 << (kBits - 1), 1 << (kBits - 1), 0};
    for (int k = 0; k < count[x]; ++k, p += 3) {
      Bytes4 pixel;
      __builtin_memcpy(&pixel, p, 4);
      sum += __builtin_convertvector(pixel, Ints4) * w[k];
    }
    for (int c = 0; c < 3; ++c) *to++ = rounded(sum[c]);
  }
  return width;
}

void filter_row_rgb(const std::uint8_t* from, int in_width, std::uint8_t* to, int width,
                    const Taps& t) {
  const int done = filter_row_of_three(from, in_width, to, width, t.first.data(), t.count.data(),
                                       t.weights.data(), t.per_output);
  filter_row<3>(from, to, done, width, t);
}

Image filter_columns(const Image& in, int width, const Taps& t, int first_row, int rows) {
  Image out = scratch_image(width, rows, in.channels);
  for (int y = 0; y < rows; ++y) {
    const std::uint8_t* from = in.row(first_row + y);
    switch (in.channels) {
      case 1: filter_row<1>(from, out.row(y), 0, width, t); break;
      case 2: filter_row<2>(from, out.row(y), 0, width, t); break;
      case 3: filter_row_rgb(from, in.width, out.row(y), width, t); break;
      default: filter_row<4>(from, out.row(y), 0, width, t);
    }
  }
  return out;
}

TENON_EVERY_ISA void add_row(std::int32_t* sum, const std::uint8_t* p, std::int32_t w,
                             std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) sum[i] += p[i] * w;
}
TENON_EVERY_ISA void round_row(const std::int32_t* sum, std::uint8_t* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = rounded(sum[i]);
}

// Vertically whole rows are added, which the compiler turns into wide multiply-adds.
Image filter_rows(const Image& in, int height, const Taps& t, int first_row) {
  Image out = scratch_image(in.width, height, in.channels);
  const std::size_t n = static_cast<std::size_t>(in.width) * in.channels;
  std::vector<std::int32_t> sum(n);
  for (int y = 0; y < height; ++y) {
    std::fill(sum.begin(), sum.end(), 1 << (kBits - 1));
    for (int k = 0; k < t.count[y]; ++k) {
      add_row(sum.data(), in.row(t.first[y] + k - first_row),
              t.weights[static_cast<std::size_t>(y) * t.per_output + k], n);
    }
    round_row(sum.data(), out.row(y), n);
  }
  return out;
}

Image resample(const Image& in, int width, int height, double (*filter)(double), double support) {
  const Taps rows = make_taps(in.height, height, filter, support);
  if (width == in.width) return height == in.height ? in : filter_rows(in, height, rows, 0);
  const Taps columns = make_taps(in.width, width, filter, support);
  if (height == in.height) return filter_columns(in, width, columns, 0, in.height);
  const int first = rows.first.front(), last = rows.first.back() + rows.count.back();
  Image narrow = filter_columns(in, width, columns, first, last - first);
  Image out = filter_rows(narrow, height, rows, first);
  give_spare(std::move(narrow.pixels));
  return out;
}

Image nearest(const Image& in, int width, int height) {
  Image out = make_image(width, height, in.channels);
  const double sx = static_cast<double>(in.width) / width,
               sy = static_cast<double>(in.height) / height;
  std::vector<int> columns(static_cast<std::size_t>(width));
  for (int x = 0; x < width; ++x)
    columns[x] = std::min(in.width - 1, static_cast<int>((x + 0.5) * sx)) * in.channels;
  for (int y = 0; y < height; ++y) {
    const std::uint8_t* from = in.row(std::min(in.height - 1, static_cast<int>((y + 0.5) * sy)));
    std::uint8_t* to = out.row(y);
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < in.channels; ++c) *to++ = from[columns[x] + c];
  }
  return out;
}

struct Blend {
  int low, high;
  float weight;  // of high
};

std::vector<Blend> blends(int in, int out) {
  std::vector<Blend> b;
  for (int i = 0; i < out; ++i) {
    const float at = std::clamp(
        (static_cast<float>(i) + 0.5f) * static_cast<float>(in) / static_cast<float>(out) - 0.5f,
        0.0f, static_cast<float>(in - 1));
    const int low = static_cast<int>(at);
    b.push_back({low, std::min(low + 1, in - 1), at - static_cast<float>(low)});
  }
  return b;
}

Image bilinear(const Image& in, int width, int height) {
  Image out = make_image(width, height, in.channels);
  const auto columns = blends(in.width, width), rows = blends(in.height, height);
  for (int y = 0; y < height; ++y) {
    const std::uint8_t *a = in.row(rows[y].low), *b = in.row(rows[y].high);
    std::uint8_t* to = out.row(y);
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < in.channels; ++c) {
        const int low = columns[x].low * in.channels + c, high = columns[x].high * in.channels + c;
        const float top = a[low] + (a[high] - a[low]) * columns[x].weight;
        const float bottom = b[low] + (b[high] - b[low]) * columns[x].weight;
        *to++ = static_cast<std::uint8_t>(top + (bottom - top) * rows[y].weight + 0.5f);
      }
  }
  return out;
}

}  // namespace

Image resize(const Image& image, int width, int height, Interpolation interpolation) {
  TENON_CHECK(width > 0 && height > 0 && image.width > 0 && image.height > 0, "{}x{} to {}x{}",
              image.width, image.height, width, height);
  switch (interpolation) {
    case Interpolation::nearest: return nearest(image, width, height);
    case Interpolation::bilinear: return bilinear(image, width, height);
    case Interpolation::area: return resample(image, width, height, triangle, 1);
    case Interpolation::bicubic: return resample(image, width, height, cubic, 2);
  }
  return image;
}

Image flip_horizontal(Image image) {
  const auto n = static_cast<std::size_t>(image.channels);
  for (int y = 0; y < image.height; ++y) {
    std::uint8_t *left = image.row(y), *right = left + (image.width - 1) * n;
    for (; left < right; left += n, right -= n) std::swap_ranges(left, left + n, right);
  }
  return image;
}

}  // namespace tenon::dataset
