// Permutations by key; stretches for buckets.
#include "tenon/dataset/order.h"

#include <algorithm>
#include <numeric>

namespace tenon::dataset {

Order::Order(SourcePtr source, OrderOptions options)
    : source_(std::move(source)), options_(options) {
  TENON_CHECK(options_.batch >= 1, "batch {}", options_.batch);
  const std::int64_t n = source_->size();
  positions_ = options_.drop_last ? n / options_.batch * options_.batch : n;
}

std::int64_t Order::Walk::plain(std::int64_t epoch, std::int64_t position) {
  if (!order_.options_.shuffle) return position;
  if (epoch != epoch_) {
    permutation_ = KeyedPermutation(
        static_cast<std::uint64_t>(order_.source_->size()),
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

std::int64_t Order::Walk::substitute(std::int64_t epoch, std::int64_t position, int attempt) const {
  const std::uint64_t draw =
      mix_key(mix_key(order_.options_.seed, static_cast<std::uint64_t>(epoch),
                      static_cast<std::uint64_t>(position)),
              static_cast<std::uint64_t>(attempt), 0x73756273);
  return static_cast<std::int64_t>(draw % static_cast<std::uint64_t>(order_.source_->size()));
}

}  // namespace tenon::dataset
