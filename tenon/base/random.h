// Random numbers by counter: the value at (seed, stream, index) is a pure function, so that any
// order, any number of threads and any restart give the same numbers; keyed permutations; NumPy's
// MT19937.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tenon {

/// One block of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
/// 2011).
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// Mixes values into one well-spread 64-bit key, for seeds made of several parts.
std::uint64_t mix_key(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0);

/// The numbers of one (seed, stream). `at` reads any index; `next` walks from index 0 on.
class CounterRandom {
 public:
  explicit CounterRandom(std::uint64_t seed, std::uint64_t stream = 0)
      : seed_(seed), stream_(stream) {}

  std::uint32_t at(std::uint64_t index) const;
  std::uint32_t next() { return at(index_++); }
  /// [0, 1) with 24 bits.
  float uniform() { return static_cast<float>(next() >> 8) * 0x1p-24f; }
  /// [0, 1) with 53 bits; takes two numbers.
  double uniform_double();
  float uniform(float low, float high) { return low + (high - low) * uniform(); }
  /// Standard normal by Box and Muller; takes two numbers.
  double normal();
  /// [0, n), n > 0; bias below 2^-32 of n by multiplication and shift.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(std::uint64_t{next()} * n >> 32);
  }
  bool chance(float probability) { return uniform() < probability; }
  void seek(std::uint64_t index) { index_ = index; }
  std::uint64_t index() const { return index_; }

 private:
  std::uint64_t seed_, stream_, index_ = 0;
};

/// out[i] = the uniform or normal number of element `first + i` of (seed, stream); any split of a
/// tensor into ranges gives the same values.
void fill_uniform(std::span<float> out, std::uint64_t seed, std::uint64_t stream,
                  std::uint64_t first = 0);
void fill_normal(std::span<float> out, std::uint64_t seed, std::uint64_t stream,
                 std::uint64_t first = 0);

/// A permutation of [0, n) that depends on `key`, each value in constant expected time and no
/// memory: a Feistel network over the next power of two, walked until it falls below n (Black and
/// Rogaway, "Ciphers with arbitrary finite domains", 2002).
class KeyedPermutation {
 public:
  /// n >= 1.
  KeyedPermutation(std::uint64_t n, std::uint64_t key);
  std::uint64_t operator()(std::uint64_t index) const;
  std::uint64_t size() const { return n_; }

 private:
  std::uint64_t step(std::uint64_t value) const;
  std::uint64_t n_;
  int low_bits_, high_bits_;
  std::array<std::uint64_t, 8> round_keys_;
};

/// MT19937 as `numpy.random.seed(int)` starts it (Matsumoto and Nishimura's init_genrand).
class Mt19937 {
 public:
  explicit Mt19937(std::uint32_t seed);
  std::uint32_t next();
  /// numpy.random.random_sample: [0, 1) with 53 bits.
  double random_sample();

 private:
  std::array<std::uint32_t, 624> state_;
  int at_ = 624;
};

}  // namespace tenon
