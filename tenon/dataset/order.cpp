// Permutations by key; stretches for buckets.
#include "tenon/dataset/order.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace tenon::dataset {

Packs::Packs(const Source& source, std::int64_t budget, std::uint64_t seed) {
  // Samples by falling length, those of one length in an order drawn by the seed.
  const std::int64_t n = source.size();
  std::map<std::int64_t, std::vector<std::int64_t>, std::greater<>> by_length;
  const KeyedPermutation draw(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1)),
                              mix_key(seed, 0x7061636b));
  for (std::int64_t i = 0; i < n; ++i) {
    const auto sample = static_cast<std::int64_t>(draw(static_cast<std::uint64_t>(i)));
    by_length[source.length(sample)].push_back(sample);
  }
  std::vector<std::vector<std::int64_t>> packs;
  std::map<std::int64_t, std::vector<std::size_t>> open;  // by what is left of the budget
  for (const auto& [length, samples] : by_length)
    for (const std::int64_t sample : samples) {
      std::size_t pack = packs.size();
      std::int64_t left = budget;
      if (const auto fit = open.lower_bound(length); fit != open.end()) {
        left = fit->first;
        pack = fit->second.back();
        fit->second.pop_back();
        if (fit->second.empty()) open.erase(fit);
      } else {
        packs.emplace_back();
      }
      packs[pack].push_back(sample);
      if (left > length) open[left - length].push_back(pack);
    }
  for (const auto& pack : packs) {
    samples_.insert(samples_.end(), pack.begin(), pack.end());
    starts_.push_back(samples_.size());
  }
}

Order::Order(SourcePtr source, OrderOptions options)
    : source_(std::move(source)), options_(options) {
  TENON_CHECK(options_.batch >= 1, "batch {}", options_.batch);
  if (options_.pack_tokens > 0) packs_ = Packs(*source_, options_.pack_tokens, options_.seed);
  units_ = options_.pack_tokens > 0 ? packs_.size() : source_->size();
  positions_ = options_.drop_last ? units_ / options_.batch * options_.batch : units_;
}

std::int64_t Order::Walk::plain(std::int64_t epoch, std::int64_t position) {
  if (!order_.options_.shuffle) return position;
  if (epoch != epoch_) {
    permutation_ = KeyedPermutation(
        static_cast<std::uint64_t>(order_.units_),
        mix_key(order_.options_.seed, static_cast<std::uint64_t>(epoch), 0x6f72646572));
    epoch_ = epoch;
  }
  return static_cast<std::int64_t>(permutation_(static_cast<std::uint64_t>(position)));
}

void Order::Walk::plan_stretch(std::int64_t epoch, std::int64_t stretch) {
  const OrderOptions& o = order_.options_;
  const std::int64_t size = o.bucket_batches * o.batch, first = stretch * size,
                     count = std::min(size, order_.positions_ - first);
  std::vector<std::int64_t> samples(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    samples[static_cast<std::size_t>(i)] = plain(epoch, first + i);
  std::stable_sort(samples.begin(), samples.end(), [&](std::int64_t a, std::int64_t b) {
    return order_.source_->length(a) < order_.source_->length(b);
  });
  // Whole batches change places; a rest that is no whole batch stays at the end.
  const std::int64_t whole = count / o.batch;
  plan_ = samples;
  if (whole > 1 && o.shuffle) {
    const KeyedPermutation places(static_cast<std::uint64_t>(whole),
                                  mix_key(o.seed, static_cast<std::uint64_t>(epoch),
                                          static_cast<std::uint64_t>(stretch) + 0x6275636b));
    for (std::int64_t b = 0; b < whole; ++b)
      std::copy_n(samples.begin() +
                      static_cast<std::int64_t>(places(static_cast<std::uint64_t>(b))) * o.batch,
                  o.batch, plan_.begin() + b * o.batch);
  }
  stretch_epoch_ = epoch;
  stretch_ = stretch;
}

std::int64_t Order::Walk::index(std::int64_t epoch, std::int64_t position) {
  const OrderOptions& o = order_.options_;
  if (o.bucket_batches <= 0) return plain(epoch, position);
  const std::int64_t size = o.bucket_batches * o.batch, stretch = position / size;
  if (epoch != stretch_epoch_ || stretch != stretch_) plan_stretch(epoch, stretch);
  return plan_[static_cast<std::size_t>(position % size)];
}

std::span<const std::int64_t> Order::Walk::samples(std::int64_t unit) {
  if (order_.options_.pack_tokens > 0) return order_.packs_[unit];
  single_ = unit;
  return {&single_, 1};
}

std::int64_t Order::Walk::substitute(std::int64_t epoch, std::int64_t position, int attempt) const {
  const std::uint64_t draw =
      mix_key(mix_key(order_.options_.seed, static_cast<std::uint64_t>(epoch),
                      static_cast<std::uint64_t>(position)),
              static_cast<std::uint64_t>(attempt), 0x73756273);
  return static_cast<std::int64_t>(draw % static_cast<std::uint64_t>(order_.units_));
}

}  // namespace tenon::dataset
