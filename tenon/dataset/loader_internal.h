// What the consumer and the workers of a loader share.
//
// Work is handed out cell by cell: ticket t is cell t % batch of batch t / batch. A claim is the
// ticket's own number in the cell's `owner`; whoever moves it on (the worker to "writing", the
// watchdog to "free") decides whether the worker's result counts, so a worker that wakes up late
// writes nothing.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "tenon/dataset/loader.h"
#include "tenon/dataset/order.h"

namespace tenon::dataset {

struct Place {
  std::int64_t epoch = 0, position = 0;  // of the first sample of the batch over all ranks
};

struct Cell {
  static constexpr std::uint64_t kFree = 0, kWriting = 1, kDone = 2, kFirstClaim = 3;
  std::atomic<std::uint64_t> owner{kFree};
};

/// A batch in the making. Fields other than the atomics belong to the consumer until `open` names
/// the batch, to the workers until `remaining` is 0, and to the consumer again.
struct Slot {
  std::atomic<std::int64_t> open{-1};  // the number of the batch that may be filled
  Place place;
  std::int64_t size = 0;
  std::atomic<std::int64_t> remaining{0};
  std::unique_ptr<Cell[]> cells;
  std::vector<Tensor> tensors;
  std::vector<std::vector<Item>> items;  // of each cell, where dims vary; unused ones are empty
  std::int64_t samples = 0;
  // Guarded by Shared::mutex:
  bool ready = false;
  std::optional<Error> error;
  std::int64_t error_cell = 0;
};

/// What a worker does right now, for the watchdog.
struct Activity {
  std::atomic<std::int64_t> ticket{-1}, index{-1}, started_ns{0};
  std::atomic<const char*> stage{"idle"};
  std::atomic<int> attempt{0};
};

struct WorkerHandle {
  std::thread thread;
  Activity activity;
  bool exited = false, abandoned = false;  // guarded by Shared::mutex
};

struct Redo {
  std::int64_t ticket = 0;
  int attempt = 0;
};

struct Loader::Shared {
  Shared(SourcePtr s, std::vector<TransformPtr> t, LoaderOptions o, Order r)
      : source(std::move(s)), transforms(std::move(t)), options(o), order(std::move(r)) {}

  SourcePtr source;
  std::vector<TransformPtr> transforms;
  std::vector<std::string> stage_names;
  LoaderOptions options;
  Order order;
  Fields item_fields, batch_fields;
  bool fixed = true;
  std::size_t length_field = 0;  // the first field whose first dim varies

  LoaderState start;
  std::int64_t first_epoch_batches = 0;  // that the starting epoch still holds
  std::int64_t end = 0;                  // number of batches in all

  std::vector<Slot> slots;
  std::atomic<std::int64_t> ticket{0};
  std::atomic<std::int64_t> work_ns{0};
  std::atomic<bool> stopping{false};
  std::atomic<int> num_redo{0};

  std::mutex mutex;
  std::condition_variable room, ready, gone;
  std::deque<Redo> redo;
  std::map<std::int64_t, BadSample> bad;
  std::vector<std::unique_ptr<WorkerHandle>> workers;

  // The consumer's own.
  std::int64_t consumed = 0, samples = 0;
  std::int64_t lent = -1;  // the slot whose batch was returned last
  double stall_seconds = 0;
  std::optional<Error> failure;
  std::unique_ptr<Worker> own_worker;  // with no workers, the consumer's
  Activity own_activity;
  std::vector<Tensor> limbo;  // buffers that somebody still held when their slot was needed again

  std::int64_t global_batch() const { return options.batch * options.ranks; }
  Place place_of(std::int64_t batch) const;
  std::int64_t size_at(Place place) const;
  /// Whether the batch at `place` is the last of its epoch.
  bool ends_epoch(Place place) const;
  Slot& slot_of(std::int64_t batch) {
    return slots[static_cast<std::size_t>(batch) % slots.size()];
  }
  /// Notes a bad sample; an error once there are too many.
  Status note_bad(std::int64_t index, const std::string& reason);
};

/// One thread's way through the cells.
class Loader::Worker {
 public:
  Worker(Shared& shared, Activity& activity)
      : shared_(shared), activity_(activity), walk_(shared.order) {}
  /// Until the loader stops, the data end, or this worker is replaced.
  void run();
  /// Fills one cell; false when the cell was taken away meanwhile.
  bool fill(std::int64_t ticket, int attempt);

 private:
  Status produce(Place place, std::int64_t cell, int attempt);
  Status read_samples(std::int64_t unit, std::int64_t epoch);
  Status make_sample(std::int64_t index, std::int64_t epoch, Item& item);
  Status check_sample(const Item& item) const;
  void write_row(Slot& slot, std::int64_t cell);
  void finish(Slot& slot);
  bool wait_for_room(std::int64_t batch);
  bool do_redo();
  Shared& shared_;
  Activity& activity_;
  Order::Walk walk_;
  std::vector<Item> items_;  // of one cell; kept, so that steady reading allocates nothing
  std::size_t num_items_ = 0;
  std::string last_bad_;
  std::int64_t last_ns_ = 0;
};

/// Pads or packs the items of a slot into its tensors.
Status collate(const LoaderOptions& options, const Fields& fields, std::size_t length_field,
               Slot& slot);
std::int64_t now_ns();

}  // namespace tenon::dataset
