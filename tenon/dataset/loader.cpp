// The consumer's side of the loader: opening slots, waiting, watching.
#include "tenon/dataset/loader.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "tenon/dataset/loader_internal.h"

namespace tenon::dataset {
namespace {

Status check_options(const LoaderOptions& o, const Source& source) {
  if (o.batch < 1 || o.batch > (1 << 24)) return invalid("a batch of {} samples", o.batch);
  if (o.workers < 0 || o.workers > 1024) return invalid("{} workers", o.workers);
  if (o.prefetch < 1 || o.prefetch > 4096) return invalid("prefetch of {} batches", o.prefetch);
  if (o.ranks < 1 || o.rank < 0 || o.rank >= o.ranks)
    return invalid("rank {} of {}", o.rank, o.ranks);
  if (o.pad_multiple < 1) return invalid("padding to multiples of {}", o.pad_multiple);
  if (!(o.timeout_seconds > 0)) return invalid("a timeout of {} seconds", o.timeout_seconds);
  if (source.size() == 0) return invalid("the source holds no samples");
  if (o.pack_tokens < 0 || (o.pack_tokens > 0 && (o.collate != Collate::pack || o.bucket_batches)))
    return invalid("packs of {} tokens", o.pack_tokens)
        .with_help("pack_tokens goes with collate = \"pack\" and without bucket_batches");
  return {};
}

Fields batched(const Fields& fields, const LoaderOptions& o) {
  Fields out = fields;
  bool varies = false;
  for (Field& f : out) {
    if (is_fixed(f)) {
      f.dims.insert(f.dims.begin(), -1);
      continue;
    }
    varies = true;
    if (o.collate == Collate::pad) f.dims.insert(f.dims.begin(), -1);
  }
  if (varies) out.push_back({o.collate == Collate::pad ? "lengths" : "offsets", DType::i64, {-1}});
  return out;
}

double seconds_since(std::int64_t ns) { return static_cast<double>(now_ns() - ns) * 1e-9; }

}  // namespace

Result<std::unique_ptr<Loader>> Loader::create(SourcePtr source,
                                               std::vector<TransformPtr> transforms,
                                               LoaderOptions options,
                                               std::optional<LoaderState> start) {
  TENON_TRY(check_options(options, *source));
  Fields fields = source->fields();
  for (const TransformPtr& t : transforms) fields = TENON_TRY(t->fields(fields));
  LoaderState from = start.value_or(LoaderState{options.seed, 0, 0});
  Order order(source, {.seed = from.seed,
                       .shuffle = options.shuffle,
                       .batch = options.batch * options.ranks,
                       .drop_last = options.drop_last,
                       .bucket_batches = options.bucket_batches,
                       .pack_tokens = options.pack_tokens});
  if (order.positions() == 0)
    return invalid("{} samples do not fill one batch of {}", order.units(),
                   options.batch * options.ranks)
        .with_help("a smaller batch, or drop_last = false");
  if (from.epoch < 0 || from.position < 0 || from.position > order.units())
    return invalid("no position {} of epoch {} in {} samples", from.position, from.epoch,
                   order.units());
  auto shared =
      std::make_shared<Shared>(std::move(source), std::move(transforms), options, std::move(order));
  for (const TransformPtr& t : shared->transforms) shared->stage_names.push_back(t->name());
  for (std::size_t i = fields.size(); i-- > 0;) {
    const Field& f = fields[i];
    if (is_fixed(f)) continue;
    if (f.dtype == DType::string ||
        std::count_if(f.dims.begin() + 1, f.dims.end(), [](auto d) { return d < 0; }))
      return invalid("field '{}' of {} {} cannot become a batch", f.name, name(f.dtype),
                     to_text(f.dims))
          .with_help("a resize or a crop gives pictures one size");
    shared->fixed = false;
    shared->length_field = i;
  }
  if (options.pack_tokens > 0 && shared->fixed)
    return invalid("every sample has the same length, so there is nothing to pack");
  shared->batch_fields = batched(fields, options);
  shared->item_fields = std::move(fields);
  shared->start = from;
  const std::int64_t left = std::max<std::int64_t>(0, shared->order.positions() - from.position),
                     global = shared->global_batch();
  shared->first_epoch_batches = options.drop_last ? left / global : (left + global - 1) / global;
  shared->end = options.epochs == 0 ? std::numeric_limits<std::int64_t>::max() / options.batch - 1
                : from.epoch >= options.epochs
                    ? 0
                    : shared->first_epoch_batches +
                          (options.epochs - from.epoch - 1) * shared->order.batches();
  return std::unique_ptr<Loader>(new Loader(std::move(shared)));
}

namespace {

// Buffers that nobody else holds any more serve again; the rest waits in `limbo`.
Tensor take_buffer(std::vector<Tensor>& limbo, Tensor old, DType dtype, const Dims& dims) {
  if (old.defined() && old.buffer().use_count() > 1) limbo.push_back(std::exchange(old, {}));
  for (std::size_t i = 0; !old.defined() && i < limbo.size(); ++i)
    if (limbo[i].buffer().use_count() == 1 && limbo[i].dtype() == dtype &&
        limbo[i].dims() == dims) {
      old = std::move(limbo[i]);
      limbo.erase(limbo.begin() + static_cast<std::ptrdiff_t>(i));
    }
  // Whoever let go of the buffer has finished with it before this thread hands it on.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (old.defined() && old.dtype() == dtype && old.dims() == dims) return old;
  return Tensor(dtype, dims);
}

void prune(std::vector<Tensor>& limbo) {
  if (limbo.size() > 64) limbo.erase(limbo.begin(), limbo.begin() + 32);  // the holders keep theirs
}

}  // namespace

Loader::Loader(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {
  Shared& s = *shared_;
  const int ring =
      s.options.workers == 0 ? 1 : s.options.prefetch + 1;  // one is in the caller's hands
  s.slots = std::vector<Slot>(static_cast<std::size_t>(ring));
  for (Slot& slot : s.slots) {
    slot.cells = std::make_unique<Cell[]>(static_cast<std::size_t>(s.options.batch));
    if (!s.fixed) slot.items.resize(static_cast<std::size_t>(s.options.batch));
  }
  for (std::int64_t b = 0; b < ring; ++b) open_slot(b);
  for (int w = 0; w < s.options.workers; ++w) start_worker();
}

void Loader::open_slot(std::int64_t batch) {
  Shared& s = *shared_;
  if (batch >= s.end) return;
  Slot& slot = s.slot_of(batch);
  slot.place = s.place_of(batch);
  slot.size = slot.samples = s.size_at(slot.place);
  if (s.fixed) {
    slot.tensors.resize(s.item_fields.size());
    for (std::size_t i = 0; i < s.item_fields.size(); ++i) {
      Dims dims = s.item_fields[i].dims;
      dims.insert(dims.begin(), slot.size);
      slot.tensors[i] =
          take_buffer(s.limbo, std::move(slot.tensors[i]), s.item_fields[i].dtype, dims);
    }
    prune(s.limbo);
  }
  for (std::int64_t c = 0; c < s.options.batch; ++c)
    slot.cells[static_cast<std::size_t>(c)].owner.store(Cell::kFree, std::memory_order_relaxed);
  slot.remaining.store(slot.size, std::memory_order_relaxed);
  std::lock_guard lock(s.mutex);
  slot.error.reset();
  slot.ready = slot.size == 0;  // a rank may have no share of the last batch
  slot.open.store(batch, std::memory_order_release);
  s.room.notify_all();
}

void Loader::start_worker() {
  auto handle = std::make_unique<WorkerHandle>();
  WorkerHandle* h = handle.get();
  h->thread = std::thread([shared = shared_, h] {
    Worker(*shared, h->activity).run();
    std::lock_guard lock(shared->mutex);
    h->exited = true;
    shared->gone.notify_all();
  });
  std::lock_guard lock(shared_->mutex);
  shared_->workers.push_back(std::move(handle));
}

Loader::~Loader() {
  Shared& s = *shared_;
  std::unique_lock lock(s.mutex);
  s.stopping = true;
  s.room.notify_all();
  const auto all_gone = [&] {
    return std::all_of(s.workers.begin(), s.workers.end(), [](const auto& w) { return w->exited; });
  };
  s.gone.wait_for(lock, std::chrono::seconds(1), all_gone);
  std::vector<std::thread> finished;
  for (auto& w : s.workers) {
    if (w->exited)
      finished.push_back(std::move(w->thread));
    else
      w->thread.detach();  // stuck; it holds its share of everything it may still touch
  }
  lock.unlock();
  for (std::thread& t : finished) t.join();
}

// Finds workers that have been at one sample for too long. Returns an error where that is fatal.
Status Loader::watch() {
  Shared& s = *shared_;
  std::vector<WorkerHandle*> handles;
  {
    std::lock_guard lock(s.mutex);
    for (const auto& w : s.workers)
      if (!w->exited && !w->abandoned) handles.push_back(w.get());
  }
  for (WorkerHandle* w : handles) {
    const std::int64_t ticket = w->activity.ticket.load(std::memory_order_acquire);
    const double seconds = seconds_since(w->activity.started_ns.load(std::memory_order_relaxed));
    if (ticket < 0 || seconds < s.options.timeout_seconds) continue;
    TENON_TRY(replace(*w, ticket, seconds));
  }
  return {};
}

Status Loader::replace(WorkerHandle& worker, std::int64_t ticket, double seconds) {
  Shared& s = *shared_;
  const int attempt = worker.activity.attempt.load(std::memory_order_relaxed);
  const std::int64_t index = worker.activity.index.load(std::memory_order_relaxed);
  const std::string reason = fmt::format(
      "stuck in {} for {:.1f} s", worker.activity.stage.load(std::memory_order_relaxed), seconds);
  if (s.options.on_bad == OnBad::fail)
    return error(Code::timeout, "{}", reason)
        .at(fmt::format("sample {}, {}", index, s.source->describe(index)));
  auto& owner = s.slot_of(ticket / s.options.batch)
                    .cells[static_cast<std::size_t>(ticket % s.options.batch)]
                    .owner;
  std::uint64_t claim = owner.load(std::memory_order_acquire);
  if (claim < Cell::kFirstClaim ||
      (claim - Cell::kFirstClaim) >> 8 != static_cast<std::uint64_t>(ticket))
    return {};  // it moved on
  if (!owner.compare_exchange_strong(claim, Cell::kFree, std::memory_order_acq_rel)) return {};
  TENON_TRY(s.note_bad(index, reason));
  if (attempt >= 100)
    return error(Code::timeout, "100 samples in a row are stuck or bad; the last: {}", reason);
  {
    std::lock_guard lock(s.mutex);
    worker.abandoned = true;
    s.redo.push_back({ticket, attempt + 1});
    s.num_redo.store(static_cast<int>(s.redo.size()), std::memory_order_release);
    s.room.notify_all();
  }
  start_worker();
  return {};
}

Status Loader::wait_ready(Slot& slot) {
  Shared& s = *shared_;
  const auto patience =
      std::chrono::duration<double>(std::clamp(s.options.timeout_seconds / 4, 0.001, 0.25));
  while (true) {
    {
      std::unique_lock lock(s.mutex);
      if (s.ready.wait_for(lock, patience, [&] { return slot.ready; })) return {};
    }
    TENON_TRY(watch());
  }
}

Status Loader::fill_inline(std::int64_t batch) {
  Shared& s = *shared_;
  if (!s.own_worker) s.own_worker = std::make_unique<Worker>(s, s.own_activity);
  for (std::int64_t c = 0; c < s.slot_of(batch).size; ++c)
    s.own_worker->fill(batch * s.options.batch + c, 0);
  return {};
}

Result<std::optional<Batch>> Loader::next() {
  Shared& s = *shared_;
  if (s.failure) return *s.failure;
  if (s.lent >= 0) open_slot(std::exchange(s.lent, -1) + static_cast<std::int64_t>(s.slots.size()));
  if (s.consumed >= s.end) return std::optional<Batch>();
  Slot& slot = s.slot_of(s.consumed);
  const std::int64_t before = now_ns();
  Status status = s.options.workers == 0 ? fill_inline(s.consumed) : wait_ready(slot);
  s.stall_seconds += seconds_since(before);
  if (status.ok() && slot.error) status = *slot.error;
  if (!status.ok()) {
    s.failure = status.error();
    return std::move(status).error();
  }
  Batch batch{slot.tensors, slot.samples, slot.place.epoch, slot.place.position,
              s.ends_epoch(slot.place)};
  if (!s.fixed) slot.tensors.clear();
  s.lent = s.consumed++;
  s.samples += slot.samples;
  return std::optional<Batch>(std::move(batch));
}

const Fields& Loader::fields() const { return shared_->batch_fields; }
std::int64_t Loader::batches_per_epoch() const { return shared_->order.batches(); }

LoaderState Loader::state() const {
  const Shared& s = *shared_;
  if (s.consumed == 0) return s.start;
  const Place last = s.place_of(s.consumed - 1);
  if (s.ends_epoch(last)) return {s.start.seed, last.epoch + 1, 0};
  return {s.start.seed, last.epoch, last.position + s.global_batch()};
}

LoaderStats Loader::stats() const {
  Shared& s = *shared_;
  LoaderStats out{
      s.samples, s.consumed, s.stall_seconds, static_cast<double>(s.work_ns.load()) * 1e-9, {}};
  std::lock_guard lock(s.mutex);
  for (const auto& [index, bad] : s.bad) out.bad.push_back(bad);
  return out;
}

}  // namespace tenon::dataset
