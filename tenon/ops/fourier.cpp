// Radix-2 transform and Bluestein's convolution.
#include "tenon/ops/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace tenon::ops {
namespace {

// e^(-2 pi i k / n), with the angle reduced first so that large k lose nothing.
std::complex<double> turn(std::int64_t k, std::int64_t n) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace

FourierTransform::FourierTransform(std::int64_t length) : length_(length), size_(1) {
  const bool power = length > 0 && (length & (length - 1)) == 0;
  while (size_ < (power ? length : 2 * length - 1)) size_ *= 2;
  for (std::int64_t k = 0; k < size_ / 2; ++k) turns_.push_back(turn(k, size_));
  if (power || length <= 0) return;
  // j k = (j^2 + k^2 - (k - j)^2) / 2, so y = chirp * convolution of (x * chirp) with conj(chirp).
  for (std::int64_t k = 0; k < length; ++k)
    chirp_.push_back(turn(k * k % (2 * length), 2 * length));
  filter_.assign(static_cast<std::size_t>(size_), Complex());
  for (std::int64_t k = 0; k < length; ++k) {
    filter_[static_cast<std::size_t>(k)] = std::conj(chirp_[static_cast<std::size_t>(k)]);
    if (k > 0) filter_[static_cast<std::size_t>(size_ - k)] = filter_[static_cast<std::size_t>(k)];
  }
  radix2(filter_);
}

void FourierTransform::radix2(std::vector<Complex>& x) const {
  const auto n = static_cast<std::size_t>(size_);
  for (std::size_t i = 1, j = 0; i < n; ++i) {  // bit-reversed order
    std::size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (std::size_t width = 2; width <= n; width *= 2)
    for (std::size_t start = 0; start < n; start += width)
      for (std::size_t k = 0; k < width / 2; ++k) {
        const Complex a = x[start + k], b = x[start + k + width / 2] * turns_[k * (n / width)];
        x[start + k] = a + b;
        x[start + k + width / 2] = a - b;
      }
}

void FourierTransform::run(std::complex<double>* x) const {
  if (length_ <= 1) return;
  std::vector<Complex> work(static_cast<std::size_t>(size_));
  const bool direct = chirp_.empty();
  for (std::int64_t k = 0; k < length_; ++k)
    work[static_cast<std::size_t>(k)] = direct ? x[k] : x[k] * chirp_[static_cast<std::size_t>(k)];
  radix2(work);
  if (!direct) {
    // The inverse transform is the transform of the conjugate, conjugated and divided.
    for (std::size_t k = 0; k < work.size(); ++k) work[k] = std::conj(work[k] * filter_[k]);
    radix2(work);
    for (std::int64_t k = 0; k < length_; ++k)
      work[static_cast<std::size_t>(k)] = std::conj(work[static_cast<std::size_t>(k)]) /
                                          static_cast<double>(size_) *
                                          chirp_[static_cast<std::size_t>(k)];
  }
  std::copy_n(work.begin(), length_, x);
}

}  // namespace tenon::ops
