// The loader: worker threads that fill a ring of batches, in an order that is known beforehand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/tensor.h"
#include "tenon/dataset/source.h"
#include "tenon/dataset/transform.h"

namespace tenon::dataset {

struct Slot;
struct WorkerHandle;

/// What happens to a sample that cannot be read or that a worker is stuck in: another one takes its
/// place (drawn by the order's key, so the same on every run), or the error reaches `next`.
enum class OnBad : std::uint8_t { skip, fail };

/// How samples become batches. Fields of fixed dims are stacked. Fields whose first dim varies are
/// padded to the longest of the batch, or packed: laid end to end without padding. Both add a field
/// `lengths` i64 [batch] (padded) or `offsets` i64 [batch + 1] (packed).
enum class Collate : std::uint8_t { pad, pack };

struct LoaderOptions {
  std::int64_t batch = 32;  // samples of one rank
  int workers = 1;          // 0: `next` does the work itself
  int prefetch = 3;         // batches that are ready or in the making
  bool shuffle = true;
  bool drop_last = true;
  std::uint64_t seed = 0;
  std::int64_t epochs = 0;          // 0: without end
  std::int64_t bucket_batches = 0;  // see OrderOptions
  Collate collate = Collate::pad;
  std::int64_t pad_multiple = 1;
  double pad_value = 0;
  /// > 0, with Collate::pack: `batch` counts packs of samples that fill so many tokens (length of
  /// the first field whose dims vary), see Packs in order.h.
  std::int64_t pack_tokens = 0;
  int rank = 0, ranks = 1;  // this rank's slice of every batch over all ranks
  OnBad on_bad = OnBad::skip;
  std::int64_t max_bad = 1000;  // more bad samples than this are an error
  double timeout_seconds = 60;  // for one sample
};

/// Where a run stands: enough to go on with the very next sample, whatever the number of workers or
/// ranks. Batches that were prefetched and not returned are no part of it.
struct LoaderState {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t position = 0;  // samples (or packs) of this epoch that were returned, by all ranks
  bool operator==(const LoaderState&) const = default;
};

struct Batch {
  std::vector<Tensor> tensors;  // in the order of Loader::fields()
  std::int64_t size = 0;        // samples
  std::int64_t epoch = 0, position = 0;
  bool last_of_epoch = false;
};

struct BadSample {
  std::int64_t index = 0;
  std::string name, reason;
};

struct LoaderStats {
  std::int64_t samples = 0, batches = 0;
  double stall_seconds = 0;    // that `next` waited
  double work_seconds = 0;     // of all workers together
  std::vector<BadSample> bad;  // each once, in the order of their index
};

class Loader {
 public:
  /// Checks that the transforms suit the source and starts the workers at `start`. `start.seed`
  /// counts where it differs from the options'.
  static Result<std::unique_ptr<Loader>> create(SourcePtr source,
                                                std::vector<TransformPtr> transforms,
                                                LoaderOptions options,
                                                std::optional<LoaderState> start = std::nullopt);
  /// Returns within a second even if workers are stuck: those are left behind.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The next batch, or nothing after the last epoch. Its tensors are the caller's as long as it
  /// wants them: the memory is used again only once nobody else holds it. Errors come at the
  /// position where they belong: `invalid` for a bad sample, `timeout` for a stuck one, named with
  /// its file and what was being done to it.
  Result<std::optional<Batch>> next();

  /// Names, types and dims of a batch's tensors; the first dim is the batch (-1) .
  const Fields& fields() const;
  std::int64_t batches_per_epoch() const;
  /// After the last batch that `next` returned.
  LoaderState state() const;
  LoaderStats stats() const;

 private:
  struct Shared;
  class Worker;
  explicit Loader(std::shared_ptr<Shared> shared);
  void open_slot(std::int64_t batch);
  void start_worker();
  Status wait_ready(Slot& slot);
  Status fill_inline(std::int64_t batch);
  Status watch();
  Status replace(WorkerHandle& worker, std::int64_t ticket, double seconds);
  std::shared_ptr<Shared> shared_;
};

}  // namespace tenon::dataset
