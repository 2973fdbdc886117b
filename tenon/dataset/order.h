// Which sample stands at which position of which epoch, in constant time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/base/random.h"
#include "tenon/dataset/source.h"

namespace tenon::dataset {

struct OrderOptions {
  std::uint64_t seed = 0;
  bool shuffle = true;
  std::int64_t batch = 1;  // samples of a batch over all ranks
  bool drop_last = true;
  /// > 0: samples of like length share a batch. Stretches of this many batches are sorted by
  /// length, cut into batches, and the batches shuffled: the order stays computable at any
  /// position.
  std::int64_t bucket_batches = 0;
  /// > 0: samples are packed, see Packs; a batch is `batch` packs, and positions count packs.
  std::int64_t pack_tokens = 0;
};

/// Samples put together so that their lengths fill `budget` as well as best-fit decreasing does
/// over the histogram of lengths (Krell et al., "Efficient sequence packing without
/// cross-contamination", 2021). Fixed for a seed: only the order of packs differs between epochs.
/// A sample longer than the budget is a pack of its own.
class Packs {
 public:
  Packs() = default;
  Packs(const Source& source, std::int64_t budget, std::uint64_t seed);
  std::int64_t size() const { return static_cast<std::int64_t>(starts_.size()) - 1; }
  std::span<const std::int64_t> operator[](std::int64_t pack) const {
    const auto i = static_cast<std::size_t>(pack);
    return {samples_.data() + starts_[i], starts_[i + 1] - starts_[i]};
  }

 private:
  std::vector<std::int64_t> samples_;
  std::vector<std::size_t> starts_ = {0};
};

/// Pure arithmetic on (seed, epoch, position): no index array, the same on every machine.
class Order {
 public:
  Order(SourcePtr source, OrderOptions options);

  /// Positions of an epoch that are read: whole batches only with drop_last.
  std::int64_t positions() const { return positions_; }
  /// What is ordered: packs, or samples.
  std::int64_t units() const { return units_; }
  std::int64_t batches() const { return (positions_ + options_.batch - 1) / options_.batch; }

  /// What one thread remembers between calls: the permutation of its epoch, the plan of its
  /// stretch.
  class Walk {
   public:
    explicit Walk(const Order& order) : order_(order) {}
    /// The sample (or pack) at a position of an epoch.
    std::int64_t index(std::int64_t epoch, std::int64_t position);
    /// The samples of what `index` gave.
    std::span<const std::int64_t> samples(std::int64_t unit);
    /// The sample or pack that stands in for a bad one: `attempt` 1, 2, ...
    std::int64_t substitute(std::int64_t epoch, std::int64_t position, int attempt) const;

   private:
    std::int64_t plain(std::int64_t epoch, std::int64_t position);
    void plan_stretch(std::int64_t epoch, std::int64_t stretch);
    const Order& order_;
    std::int64_t epoch_ = -1, stretch_epoch_ = -1, stretch_ = -1;
    KeyedPermutation permutation_{1, 0};
    std::vector<std::int64_t> plan_;
    std::int64_t single_ = 0;
  };

 private:
  SourcePtr source_;
  OrderOptions options_;
  std::int64_t positions_ = 0, units_ = 0;
  Packs packs_;
};

}  // namespace tenon::dataset
