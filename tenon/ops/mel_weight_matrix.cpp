// mel_weight_matrix(num_mel_bins, dft_length, sample_rate, lower_hertz, upper_hertz; dtype):
// triangles that gather the frequencies of a spectrum into mel bands.
#include <cmath>

#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  for (int i = 0; i < 5; ++i)
    TENON_EXPECT(!c.in(i).ranked() || c.in(i).count().known().value_or(1) == 1,
                 "every input is one number", c.in(i));
  TENON_EXPECT(kNumeric.has(c.dtype("dtype")), "the result is numeric");
  auto bins = c.dims(0), length = c.dims(1);
  const Dim rows = length ? floor_div((*length)[0], Dim(2)) + Dim(1) : c.fresh_dim("rows");
  return Types{Type(c.dtype("dtype"), {rows, bins ? (*bins)[0] : c.fresh_dim("bins")})};
}

// The corners of the triangles as rows of the spectrum: evenly spaced in mel = 2595 log10(1 + f /
// 700).
std::vector<std::int64_t> corners(std::int64_t bins, std::int64_t length, double rate, double lower,
                                  double upper) {
  const double low = 2595 * std::log10(1 + lower / 700), high = 2595 * std::log10(1 + upper / 700),
               step = (high - low) / static_cast<double>(bins + 2);
  std::vector<std::int64_t> at;
  for (std::int64_t k = 0; k < bins + 2; ++k) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(k) * step + low) / 2595) - 1);
    at.push_back(
        static_cast<std::int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate)));
  }
  return at;
}

Result<Datums> eval(const EvalCall& e) {
  const std::int64_t bins = integer_element(e.in(0), 0), length = integer_element(e.in(1), 0),
                     rate = integer_element(e.in(2), 0);
  if (bins < 0 || length < 1 || rate < 1)
    return invalid("mel_weight_matrix: {} bins of {} points at {} Hz are no bands", bins, length,
                   rate);
  const auto at =
      corners(bins, length, static_cast<double>(rate), element(e.in(3), 0), element(e.in(4), 0));
  const std::int64_t rows = length / 2 + 1;
  std::vector<double> y(static_cast<std::size_t>(rows * bins), 0.0);
  const auto set = [&](std::int64_t row, std::int64_t bin, double v) {
    if (row >= 0 && row < rows) y[static_cast<std::size_t>(row * bins + bin)] = v;
  };
  for (std::int64_t i = 0; i < bins; ++i) {
    const std::int64_t left = at[static_cast<std::size_t>(i)],
                       top = at[static_cast<std::size_t>(i + 1)],
                       right = at[static_cast<std::size_t>(i + 2)];
    for (std::int64_t j = left; j <= top; ++j)
      set(j, i, left == top ? 1 : static_cast<double>(j - left) / static_cast<double>(top - left));
    for (std::int64_t j = top; j < right; ++j)
      set(j, i, static_cast<double>(right - j) / static_cast<double>(right - top));
  }
  return Datums{Datum(from_doubles(y, e.call.dtype("dtype"), {rows, bins}))};
}

Cost cost(const Call& c) { return {c.out(0).count(), c.bytes_in(), c.bytes_out()}; }
Result<Factors> sharding(const Call& c) { return all_whole(c); }

}  // namespace

OpPage mel_weight_matrix() {
  const auto call = [](std::int64_t bins, std::int64_t length, std::int64_t rate, float low,
                       float high) {
    return sample({{}, {}, {}, {}, {}})
        .known(0, Tensor::scalar(bins))
        .known(1, Tensor::scalar(length))
        .known(2, Tensor::scalar(rate))
        .given(3, Tensor::scalar(low))
        .given(4, Tensor::scalar(high));
  };
  return {
      .name = "mel_weight_matrix",
      .doc =
          "y[dft_length / 2 + 1, num_mel_bins]: the weight of each frequency of a one-sided "
          "spectrum in each mel band; bands are triangles evenly spaced in mel between lower_hertz "
          "and "
          "upper_hertz, their corners rounded down to frequencies of the spectrum",
      .inputs = {{"num_mel_bins", kIndex, "I"},
                 {"dft_length", kIndex, "I"},
                 {"sample_rate", kIndex, "I"},
                 {"lower_hertz", kFloat, "F"},
                 {"upper_hertz", kFloat, "F"}},
      .attrs = {{"dtype", DType::f32}},
      .infer = infer,
      .eval = eval,
      .decompose = none("core: a table made from five numbers, folded where they are known"),
      .gradient = none("piecewise constant in the edges, as corners are rounded to frequencies"),
      .cost = cost,
      .sharding = sharding,
      .samples = {call(8, 16, 8192, 0, 4096),
                  call(5, 64, 16000, 20, 7600).with({{"dtype", DType::f64}})}};
}

}  // namespace tenon::ops
