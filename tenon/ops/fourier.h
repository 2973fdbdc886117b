// Discrete Fourier transforms of lines of complex numbers, in double.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace tenon::ops {

/// y[k] = sum over j of x[j] e^(-2 pi i j k / n), for one length. Radix 2 where n is a power of
/// two, else by convolution with a chirp (Bluestein 1970), so that every length takes n log n
/// operations.
class FourierTransform {
 public:
  explicit FourierTransform(std::int64_t length);
  /// In place; `x` holds length() numbers.
  void run(std::complex<double>* x) const;
  std::int64_t length() const { return length_; }

 private:
  using Complex = std::complex<double>;
  void radix2(std::vector<Complex>& x) const;  // of size_ numbers
  std::int64_t length_, size_;           // size_: length_, or the power of two of the convolution
  std::vector<Complex> turns_;           // e^(-2 pi i k / size_), k < size_ / 2
  std::vector<Complex> chirp_, filter_;  // of the convolution, when length_ is no power of two
};

}  // namespace tenon::ops
