// The workers' side of the loader.
#include <chrono>
#include <cstring>

#include "tenon/dataset/loader_internal.h"

namespace tenon::dataset {

constexpr int kMaxSubstitutes = 100;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Place Loader::Shared::place_of(std::int64_t batch) const {
  if (batch < first_epoch_batches) return {start.epoch, start.position + batch * global_batch()};
  batch -= first_epoch_batches;
  return {start.epoch + 1 + batch / order.batches(), batch % order.batches() * global_batch()};
}

std::int64_t Loader::Shared::size_at(Place place) const {
  return std::clamp<std::int64_t>(order.positions() - place.position - options.rank * options.batch,
                                  0, options.batch);
}

bool Loader::Shared::ends_epoch(Place place) const {
  const std::int64_t left = order.positions() - place.position - global_batch();
  return left < (options.drop_last ? global_batch() : 1);
}

Status Loader::Shared::note_bad(std::int64_t index, const std::string& reason) {
  std::lock_guard lock(mutex);
  bad.try_emplace(index, BadSample{index, source->describe(index), reason});
  if (static_cast<std::int64_t>(bad.size()) <= options.max_bad) return {};
  return invalid("{} samples are bad, more than max_bad allows; the last: {}", bad.size(), reason);
}

void Loader::Worker::run() {
  Shared& s = shared_;
  while (!s.stopping.load(std::memory_order_relaxed)) {
    if (s.num_redo.load(std::memory_order_acquire) && !do_redo()) return;
    const std::int64_t ticket = s.ticket.fetch_add(1, std::memory_order_relaxed),
                       batch = ticket / s.options.batch;
    if (batch >= s.end) return;
    // A short batch has fewer cells than tickets. It may be finished and its slot in use again by
    // now, so its size is computed, not read.
    if (ticket % s.options.batch >= s.size_at(s.place_of(batch))) continue;
    if (!wait_for_room(batch) || !fill(ticket, 0)) return;
  }
}

bool Loader::Worker::do_redo() {
  Redo work;
  {
    std::lock_guard lock(shared_.mutex);
    if (shared_.redo.empty()) return true;
    work = shared_.redo.front();
    shared_.redo.pop_front();
    shared_.num_redo.store(static_cast<int>(shared_.redo.size()), std::memory_order_release);
  }
  return fill(work.ticket, work.attempt);
}

bool Loader::Worker::wait_for_room(std::int64_t batch) {
  Slot& slot = shared_.slot_of(batch);
  while (slot.open.load(std::memory_order_acquire) != batch) {
    {
      std::unique_lock lock(shared_.mutex);
      shared_.room.wait(
          lock, [&] { return shared_.stopping || slot.open == batch || !shared_.redo.empty(); });
      if (shared_.stopping) return false;
    }
    if (shared_.num_redo.load(std::memory_order_acquire) && !do_redo()) return false;
    last_ns_ = 0;
  }
  return true;
}

bool Loader::Worker::fill(std::int64_t ticket, int attempt) {
  Slot& slot = shared_.slot_of(ticket / shared_.options.batch);
  const std::int64_t cell = ticket % shared_.options.batch;
  std::atomic<std::uint64_t>& owner = slot.cells[static_cast<std::size_t>(cell)].owner;
  // Unlike the ticket, never the same for two attempts at one cell.
  std::uint64_t claim = Cell::kFirstClaim + (static_cast<std::uint64_t>(ticket) << 8) +
                        static_cast<std::uint64_t>(attempt);
  owner.store(claim, std::memory_order_release);
  if (last_ns_ == 0) last_ns_ = now_ns();
  activity_.attempt.store(attempt, std::memory_order_relaxed);
  activity_.started_ns.store(last_ns_, std::memory_order_relaxed);
  activity_.ticket.store(ticket, std::memory_order_release);
  const Status status = produce(shared_.place_of(ticket / shared_.options.batch), cell, attempt);
  activity_.ticket.store(-1, std::memory_order_release);
  const std::int64_t now = now_ns();
  shared_.work_ns.fetch_add(now - last_ns_, std::memory_order_relaxed);
  last_ns_ = now;
  if (!owner.compare_exchange_strong(claim, Cell::kWriting, std::memory_order_acq_rel))
    return false;
  if (status.ok()) {
    write_row(slot, cell);
  } else {
    std::lock_guard lock(shared_.mutex);
    if (!slot.error || cell < slot.error_cell) slot.error = status.error(), slot.error_cell = cell;
  }
  owner.store(Cell::kDone, std::memory_order_release);
  if (slot.remaining.fetch_sub(1, std::memory_order_acq_rel) == 1) finish(slot);
  return true;
}

// The sample of a cell, or of one that stands in for it; names are added to errors here.
Status Loader::Worker::produce(Place place, std::int64_t cell, int attempt) {
  const LoaderOptions& o = shared_.options;
  const std::int64_t position = place.position + o.rank * o.batch + cell;
  while (true) {
    const std::int64_t index = attempt == 0 ? walk_.index(place.epoch, position)
                                            : walk_.substitute(place.epoch, position, attempt);
    TENON_TRY(read_samples(index, place.epoch));
    if (num_items_ > 0) return {};
    if (++attempt > kMaxSubstitutes)
      return invalid("{} samples drawn in place of a bad one are bad too; the last: {}",
                     kMaxSubstitutes, last_bad_);
    activity_.attempt.store(attempt, std::memory_order_relaxed);
  }
}

// Of a pack, bad samples are left out.
Status Loader::Worker::read_samples(std::int64_t unit, std::int64_t epoch) {
  const auto samples = walk_.samples(unit);
  if (items_.size() < samples.size()) items_.resize(samples.size());
  num_items_ = 0;
  for (const std::int64_t index : samples) {
    activity_.index.store(index, std::memory_order_relaxed);
    Status status = make_sample(index, epoch, items_[num_items_]);
    if (status.ok()) {
      ++num_items_;
      continue;
    }
    Error e = std::move(status).error().at(
        fmt::format("sample {}, {}", index, shared_.source->describe(index)));
    if (shared_.options.on_bad == OnBad::fail) return e;
    TENON_TRY(shared_.note_bad(index, e.message));
    last_bad_ = e.text();
  }
  return {};
}

Status Loader::Worker::make_sample(std::int64_t index, std::int64_t epoch, Item& item) {
  item.index = index;
  item.random = CounterRandom(mix_key(shared_.start.seed, static_cast<std::uint64_t>(epoch)),
                              static_cast<std::uint64_t>(index));
  activity_.stage.store("reading", std::memory_order_relaxed);
  TENON_TRY(shared_.source->read(index, item));
  for (std::size_t i = 0; i < shared_.transforms.size(); ++i) {
    activity_.stage.store(shared_.stage_names[i].c_str(), std::memory_order_relaxed);
    TENON_TRY(shared_.transforms[i]->apply(item));
  }
  return check_sample(item);
}

Status Loader::Worker::check_sample(const Item& item) const {
  const Fields& fields = shared_.item_fields;
  if (item.values.size() != fields.size())
    return invalid("{} values for {} fields", item.values.size(), fields.size());
  std::int64_t length = -1;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Value& v = item.values[i];
    bool fits = v.dtype == fields[i].dtype && v.dims.size() == fields[i].dims.size() && !v.encoded;
    for (std::size_t d = 0; fits && d < v.dims.size(); ++d)
      fits = fields[i].dims[d] < 0 || fields[i].dims[d] == v.dims[d];
    if (!fits)
      return invalid("field '{}' is {} {} instead of {} {}", fields[i].name, name(v.dtype),
                     to_text(v.dims), name(fields[i].dtype), to_text(fields[i].dims));
    if (is_fixed(fields[i])) continue;
    if (length >= 0 && v.dims[0] != length)
      return invalid("field '{}' has length {} beside one of {}", fields[i].name, v.dims[0],
                     length);
    length = v.dims[0];
  }
  return {};
}

void Loader::Worker::write_row(Slot& slot, std::int64_t cell) {
  if (!shared_.fixed) {
    std::vector<Item>& row = slot.items[static_cast<std::size_t>(cell)];
    if (row.size() < num_items_) row.resize(num_items_);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i < num_items_)
        std::swap(row[i].values, items_[i].values);
      else
        row[i].values.clear();
    }
    return;
  }
  const std::vector<Value>& values = items_[0].values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t bytes = values[i].bytes();
    if (bytes)
      std::memcpy(slot.tensors[i].raw() + static_cast<std::size_t>(cell) * bytes, values[i].data,
                  bytes);
  }
}

void Loader::Worker::finish(Slot& slot) {
  Status status;
  if (!shared_.fixed && !slot.error)
    status = collate(shared_.options, shared_.item_fields, shared_.length_field, slot);
  std::lock_guard lock(shared_.mutex);
  if (!status.ok()) slot.error = std::move(status).error();
  slot.ready = true;
  shared_.ready.notify_one();
}

namespace {

// Padded: [size, longest, rest...]; packed: [sum of lengths, rest...].
Tensor joined(const LoaderOptions& o, const Field& field, const std::vector<const Item*>& items,
              std::size_t f, std::int64_t longest, std::int64_t total) {
  Dims dims = field.dims;
  if (o.collate == Collate::pad) {
    dims[0] = longest;
    dims.insert(dims.begin(), static_cast<std::int64_t>(items.size()));
  } else {
    dims[0] = total;
  }
  Tensor t = o.collate == Collate::pad ? Tensor::full(field.dtype, dims, o.pad_value)
                                       : Tensor(field.dtype, dims);
  const std::size_t stride = items.empty() ? 0 : t.bytes() / items.size();
  std::size_t at = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Value& v = items[i]->values[f];
    std::byte* to = t.raw() + (o.collate == Collate::pad ? i * stride : at);
    if (v.bytes()) std::memcpy(to, v.data, v.bytes());
    at += v.bytes();
  }
  return t;
}

// [size, dims...] of a field whose dims do not vary.
Tensor stacked(const Field& field, const std::vector<const Item*>& items, std::size_t f) {
  Dims dims = field.dims;
  dims.insert(dims.begin(), static_cast<std::int64_t>(items.size()));
  Tensor t(field.dtype, dims);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Value& v = items[i]->values[f];
    if (v.bytes()) std::memcpy(t.raw() + i * v.bytes(), v.data, v.bytes());
  }
  return t;
}

std::vector<const Item*> items_of(const Slot& slot) {
  std::vector<const Item*> out;
  for (std::int64_t c = 0; c < slot.size; ++c)
    for (const Item& item : slot.items[static_cast<std::size_t>(c)])
      if (!item.values.empty()) out.push_back(&item);
  return out;
}

}  // namespace

Status collate(const LoaderOptions& o, const Fields& fields, std::size_t length_field, Slot& slot) {
  const std::vector<const Item*> items = items_of(slot);
  std::vector<std::int64_t> lengths, offsets = {0};
  std::int64_t longest = 0;
  for (const Item* item : items) {
    lengths.push_back(item->values[length_field].dims[0]);
    offsets.push_back(offsets.back() + lengths.back());
    longest = std::max(longest, lengths.back());
  }
  longest = (longest + o.pad_multiple - 1) / o.pad_multiple * o.pad_multiple;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(longest * 8, slot.size, &bytes) || bytes > (std::int64_t{1} << 40))
    return invalid("a batch of {} samples of length {} is too large", slot.size, longest);
  slot.samples = static_cast<std::int64_t>(items.size());
  slot.tensors.clear();
  for (std::size_t f = 0; f < fields.size(); ++f)
    slot.tensors.push_back(is_fixed(fields[f])
                               ? stacked(fields[f], items, f)
                               : joined(o, fields[f], items, f, longest, offsets.back()));
  slot.tensors.push_back(Tensor::vector(o.collate == Collate::pad ? lengths : offsets));
  return {};
}

}  // namespace tenon::dataset
