// Counter-based and legacy generators; see the header for the sources.
#include "tenon/base/random.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "tenon/base/error.h"

namespace tenon {
namespace {

// Philox constants from the paper's Table 2 and section 4.3 (golden ratio, sqrt(3) - 1).
constexpr std::uint32_t kMul0 = 0xD2511F53, kMul1 = 0xCD9E8D57, kWeyl0 = 0x9E3779B9,
                        kWeyl1 = 0xBB67AE85;

// The finaliser of splitmix64 (Steele, Lea, Flood 2014).
std::uint64_t scramble(std::uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

std::array<std::uint32_t, 4> block(std::uint64_t seed, std::uint64_t stream, std::uint64_t number) {
  return philox4x32({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32),
                     static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

// u in (0, 1] so that the logarithm is finite.
double box_muller(std::uint32_t a, std::uint32_t b) {
  const double u = (static_cast<double>(a) + 1) * 0x1p-32, v = static_cast<double>(b) * 0x1p-32;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> c,
                                        std::array<std::uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMul0} * c[0], p1 = std::uint64_t{kMul1} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)};
    k[0] += kWeyl0;
    k[1] += kWeyl1;
  }
  return c;
}

std::uint64_t mix_key(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return scramble(scramble(scramble(a + 0x9e3779b97f4a7c15) ^ (b + 0x632be59bd9b4e019)) ^
                  (c + 0xd1342543de82ef95));
}

std::uint32_t CounterRandom::at(std::uint64_t index) const {
  return block(seed_, stream_, index / 4)[index % 4];
}

double CounterRandom::uniform_double() {
  const std::uint64_t high = next() >> 5, low = next() >> 6;
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

double CounterRandom::normal() {
  const std::uint32_t a = next();
  return box_muller(a, next());
}

void fill_uniform(std::span<float> out, std::uint64_t seed, std::uint64_t stream,
                  std::uint64_t first) {
  for (std::size_t i = 0; i < out.size();) {
    const auto numbers = block(seed, stream, (first + i) / 4);
    for (std::uint64_t k = (first + i) % 4; k < 4 && i < out.size(); ++k, ++i)
      out[i] = static_cast<float>(numbers[k] >> 8) * 0x1p-24f;
  }
}

void fill_normal(std::span<float> out, std::uint64_t seed, std::uint64_t stream,
                 std::uint64_t first) {
  for (std::size_t i = 0; i < out.size();) {
    const auto numbers = block(seed, stream, (first + i) / 2);
    for (std::uint64_t k = (first + i) % 2; k < 2 && i < out.size(); ++k, ++i)
      out[i] = static_cast<float>(box_muller(numbers[2 * k], numbers[2 * k + 1]));
  }
}

KeyedPermutation::KeyedPermutation(std::uint64_t n, std::uint64_t key) : n_(n) {
  TENON_CHECK(n >= 1 && n <= std::uint64_t{1} << 62, "a permutation of {} values", n);
  // Few bits make poor Feistel rounds; below eight the walk is longer instead.
  const int bits = std::max(8, static_cast<int>(std::bit_width(n - 1)));
  low_bits_ = bits / 2;
  high_bits_ = bits - low_bits_;
  for (std::size_t i = 0; i < round_keys_.size(); ++i) round_keys_[i] = mix_key(key, i, 0x7065726d);
}

// One pass: an even number of rounds, each swapping halves of unequal width, ends in the first
// widths.
std::uint64_t KeyedPermutation::step(std::uint64_t value) const {
  int left_bits = high_bits_, right_bits = low_bits_;
  std::uint64_t left = value >> low_bits_, right = value & ((std::uint64_t{1} << low_bits_) - 1);
  for (const std::uint64_t key : round_keys_) {
    const std::uint64_t mixed =
        (left ^ scramble(right ^ key)) & ((std::uint64_t{1} << left_bits) - 1);
    left = right;
    right = mixed;
    std::swap(left_bits, right_bits);
  }
  return left << right_bits | right;
}

std::uint64_t KeyedPermutation::operator()(std::uint64_t index) const {
  TENON_CHECK(index < n_, "index {} of {}", index, n_);
  if (n_ == 1) return 0;
  // Ends: the walk stays on the cycle of `index`, which holds a value below n, namely `index`
  // itself.
  do index = step(index);
  while (index >= n_);
  return index;
}

Mt19937::Mt19937(std::uint32_t seed) {
  state_[0] = seed;
  for (std::uint32_t i = 1; i < 624; ++i)
    state_[i] = 1812433253u * (state_[i - 1] ^ state_[i - 1] >> 30) + i;
}

std::uint32_t Mt19937::next() {
  if (at_ == 624) {
    for (std::size_t i = 0; i < 624; ++i) {
      const std::uint32_t y = (state_[i] & 0x80000000u) | (state_[(i + 1) % 624] & 0x7fffffffu);
      state_[i] = state_[(i + 397) % 624] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    at_ = 0;
  }
  std::uint32_t y = state_[static_cast<std::size_t>(at_++)];
  y ^= y >> 11;
  y ^= y << 7 & 0x9d2c5680u;
  y ^= y << 15 & 0xefc60000u;
  return y ^ y >> 18;
}

double Mt19937::random_sample() {
  const std::uint32_t a = next() >> 5, b = next() >> 6;
  return (a * 67108864.0 + b) / 9007199254740992.0;
}

}  // namespace tenon
