#include "tenon/dataset/loader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "tenon/dataset/file_sources.h"
#include "tenon/dataset/order.h"

namespace tenon::dataset {
namespace {

// Sample i holds the number i and a random one; some are bad, some get stuck.
class Numbers : public Source {
 public:
  explicit Numbers(std::int64_t n) : n_(n) {}
  ~Numbers() override { release(); }
  std::int64_t size() const override { return n_; }
  const Fields& fields() const override { return fields_; }
  std::string describe(std::int64_t index) const override {
    return fmt::format("number {}", index);
  }
  Status read(std::int64_t index, Item& item) const override {
    if (stuck.count(index)) {
      std::unique_lock lock(mutex_);
      released_.wait(lock, [&] { return done_; });
    }
    if (bad.count(index)) return invalid("it is bad");
    if (slow) std::this_thread::sleep_for(std::chrono::microseconds(index % 7 * 20));
    item.values.resize(2);
    item.values[0].set(index);
    item.values[1].set(item.random.uniform());
    return {};
  }
  void release() const {
    std::lock_guard lock(mutex_);
    done_ = true;
    released_.notify_all();
  }
  std::set<std::int64_t> bad, stuck;
  bool slow = false;

 private:
  std::int64_t n_;
  Fields fields_ = {{"n", DType::i64, {}}, {"r", DType::f32, {}}};
  mutable std::mutex mutex_;
  mutable std::condition_variable released_;
  mutable bool done_ = false;
};

// Texts of different lengths: sample i is i repeated (i % 5 + 1) times.
class Texts : public Source {
 public:
  std::int64_t size() const override { return 200; }
  const Fields& fields() const override { return fields_; }
  std::string describe(std::int64_t index) const override { return fmt::format("text {}", index); }
  std::int64_t length(std::int64_t index) const override { return index % 5 + 1; }
  Status read(std::int64_t index, Item& item) const override {
    item.values.resize(2);
    auto* to = reinterpret_cast<std::int64_t*>(item.values[0].own(DType::i64, {length(index)}));
    std::fill_n(to, length(index), index);
    item.values[1].set(index);
    return {};
  }

 private:
  Fields fields_ = {{"tokens", DType::i64, {-1}}, {"label", DType::i64, {}}};
};

struct Seen {
  std::vector<std::int64_t> numbers;
  std::vector<float> randoms;
  std::vector<std::string> bytes;
};

Seen take(Loader& loader, std::int64_t batches) {
  Seen seen;
  for (std::int64_t b = 0; b < batches; ++b) {
    const auto batch = loader.next();
    TENON_CHECK(batch.ok(), "{}", batch.error().text());
    if (!*batch) break;
    std::string all;
    for (const Tensor& t : (*batch)->tensors)
      all.append(reinterpret_cast<const char*>(t.raw()), t.bytes());
    seen.bytes.push_back(std::move(all));
    const auto n = to_int64s((*batch)->tensors[0]);
    seen.numbers.insert(seen.numbers.end(), n.begin(), n.end());
  }
  return seen;
}

std::unique_ptr<Loader> make(SourcePtr source, LoaderOptions o,
                             std::optional<LoaderState> start = std::nullopt) {
  auto loader = Loader::create(std::move(source), {}, o, start);
  TENON_CHECK(loader.ok(), "{}", loader.error().text());
  return std::move(loader).value();
}

TEST(Loader, EveryEpochHoldsEverySampleOnce) {
  const auto source = std::make_shared<Numbers>(103);
  for (int workers : {0, 1, 3}) {
    auto loader = make(source, {.batch = 10, .workers = workers, .drop_last = false, .epochs = 2});
    EXPECT_EQ(loader->batches_per_epoch(), 11);
    auto first = take(*loader, 11).numbers, second = take(*loader, 100).numbers;
    EXPECT_NE(first, second);
    ASSERT_EQ(first.size(), 103u);
    ASSERT_EQ(second.size(), 103u);
    for (auto* list : {&first, &second}) {
      std::sort(list->begin(), list->end());
      for (std::int64_t i = 0; i < 103; ++i) ASSERT_EQ((*list)[static_cast<std::size_t>(i)], i);
    }
    EXPECT_FALSE(loader->next()->has_value());
    EXPECT_EQ(loader->stats().samples, 206);
  }
}

TEST(Loader, BytesDoNotDependOnWorkers) {
  const auto source = std::make_shared<Numbers>(1000);
  source->slow = true;
  source->bad = {3, 77, 500};
  const auto one = take(*make(source, {.batch = 16, .workers = 0, .seed = 9}), 130);
  for (int workers : {1, 2, 5})
    EXPECT_EQ(
        take(*make(source, {.batch = 16, .workers = workers, .prefetch = workers, .seed = 9}), 130)
            .bytes,
        one.bytes);
  EXPECT_NE(take(*make(source, {.batch = 16, .seed = 10}), 2).bytes,
            take(*make(source, {.batch = 16, .seed = 9}), 2).bytes);
}

TEST(Loader, ResumesAtEveryPositionByteForByte) {
  const auto numbers = std::make_shared<Numbers>(47);
  const auto texts = std::make_shared<Texts>();
  for (bool drop_last : {true, false})
    for (const SourcePtr& source : {SourcePtr(numbers), SourcePtr(texts)}) {
      const LoaderOptions o = {.batch = 5,
                               .workers = 2,
                               .drop_last = drop_last,
                               .seed = 4,
                               .bucket_batches = source == texts ? 4 : 0};
      auto whole = make(source, o);
      std::vector<LoaderState> states = {whole->state()};
      std::vector<std::string> bytes;
      for (int b = 0; b < 60; ++b) {
        bytes.push_back(take(*whole, 1).bytes[0]);
        states.push_back(whole->state());
      }
      for (std::size_t at = 0; at < 60; at += 7) {
        LoaderOptions other = o;
        other.workers = static_cast<int>(at % 4);
        other.prefetch = 1 + static_cast<int>(at % 5);
        auto resumed = make(source, other, states[at]);
        EXPECT_EQ(resumed->state(), states[at]);
        const auto rest = take(*resumed, static_cast<std::int64_t>(60 - at)).bytes;
        EXPECT_EQ(rest, std::vector<std::string>(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                                 bytes.end()))
            << at;
        EXPECT_EQ(resumed->state(), states[60]);
      }
    }
}

TEST(Loader, RanksShareEveryBatch) {
  const auto source = std::make_shared<Numbers>(101);
  const auto whole = take(*make(source, {.batch = 12, .seed = 3}), 20).numbers;
  std::vector<std::vector<std::int64_t>> parts;
  for (int rank = 0; rank < 3; ++rank)
    parts.push_back(
        take(*make(source, {.batch = 4, .seed = 3, .rank = rank, .ranks = 3}), 20).numbers);
  for (std::size_t i = 0; i < whole.size(); ++i)
    EXPECT_EQ(parts[i % 12 / 4][i / 12 * 4 + i % 4], whole[i]);
  // The state of one division goes on under another.
  auto loader = make(source, {.batch = 4, .seed = 3, .rank = 1, .ranks = 3});
  take(*loader, 3);
  const auto rest = take(*make(source, {.batch = 6, .seed = 3}, loader->state()), 2).numbers;
  EXPECT_EQ(rest, std::vector<std::int64_t>(whole.begin() + 36, whole.begin() + 48));
  auto last = make(source, {.batch = 40, .drop_last = false, .epochs = 1, .rank = 2, .ranks = 3});
  EXPECT_EQ((*last->next())->size, 21);
}

TEST(Loader, BadSamplesAreReplacedAndNamed) {
  const auto source = std::make_shared<Numbers>(40);
  source->bad = {5, 6};
  auto loader = make(source, {.batch = 8, .workers = 2, .epochs = 1});
  const auto seen = take(*loader, 10).numbers;
  EXPECT_EQ(seen.size(), 40u);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 5) + std::count(seen.begin(), seen.end(), 6), 0);
  const auto bad = loader->stats().bad;
  ASSERT_EQ(bad.size(), 2u);
  EXPECT_EQ(bad[0].name, "number 5");
  EXPECT_EQ(bad[0].reason, "it is bad");
}

TEST(Loader, BadSamplesAreFatalAtTheirPlaceIfAsked) {
  const auto source = std::make_shared<Numbers>(100);
  source->bad = {42};
  for (int workers : {0, 1, 4}) {
    auto loader =
        make(source, {.batch = 10, .workers = workers, .shuffle = false, .on_bad = OnBad::fail});
    for (int b = 0; b < 4; ++b) ASSERT_TRUE(loader->next().ok());
    const auto failed = loader->next();
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().text(), "it is bad [sample 42, number 42]");
    EXPECT_FALSE(loader->next().ok());
  }
  auto strict = make(source, {.batch = 10, .epochs = 1, .max_bad = 0});
  bool failed = false;
  for (int b = 0; b < 10 && !failed; ++b) failed = !strict->next().ok();
  EXPECT_TRUE(failed);
  const auto hopeless = std::make_shared<Numbers>(100);
  for (std::int64_t i = 0; i < 100; ++i) hopeless->bad.insert(i);
  EXPECT_FALSE(make(hopeless, {.batch = 10})->next().ok())
      << "nothing but bad samples must not go on for ever";
}

TEST(Loader, AStuckSampleIsNamedAndPassedOver) {
  const auto source = std::make_shared<Numbers>(60);
  source->stuck = {7, 30};
  auto loader = make(source, {.batch = 10, .workers = 2, .epochs = 1, .timeout_seconds = 0.1});
  const auto seen = take(*loader, 10).numbers;
  EXPECT_EQ(seen.size(), 60u);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 7), 0);
  const auto bad = loader->stats().bad;
  ASSERT_EQ(bad.size(), 2u);
  EXPECT_NE(bad[0].reason.find("stuck in reading"), std::string::npos) << bad[0].reason;
  const auto before = std::chrono::steady_clock::now();
  loader.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(3));
  source->release();
  std::this_thread::sleep_for(
      std::chrono::milliseconds(50));  // the late ones wake up and must do no harm
}

TEST(Loader, AStuckSampleIsATimeoutIfAsked) {
  const auto source = std::make_shared<Numbers>(60);
  source->stuck = {7};
  auto loader = make(
      source,
      {.batch = 10, .workers = 1, .shuffle = false, .on_bad = OnBad::fail, .timeout_seconds = 0.1});
  const auto failed = loader->next();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::timeout);
  EXPECT_NE(failed.error().text().find("sample 7, number 7"), std::string::npos)
      << failed.error().text();
  loader.reset();
  source->release();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

TEST(Loader, HeldBatchesStayAsTheyWere) {
  const auto source = std::make_shared<Numbers>(400);
  auto loader = make(source, {.batch = 10, .workers = 2, .shuffle = false});
  std::vector<Batch> held;
  for (int b = 0; b < 30; ++b) held.push_back(**loader->next());
  for (std::size_t b = 0; b < held.size(); ++b)
    for (std::int64_t i = 0; i < 10; ++i)
      ASSERT_EQ(held[b].tensors[0].data<std::int64_t>()[static_cast<std::size_t>(i)],
                static_cast<std::int64_t>(b) * 10 + i);
  held.clear();
  std::set<const void*> buffers;
  for (int b = 0; b < 100; ++b) {
    const Batch batch = **loader->next();
    if (b >= 50) buffers.insert(batch.tensors[0].raw());
  }
  EXPECT_LE(buffers.size(), 8u) << "steady reading must not allocate";
}

TEST(Loader, PadsAndPacks) {
  const auto source = std::make_shared<Texts>();
  auto padded = make(source, {.batch = 5, .shuffle = false, .pad_multiple = 4, .pad_value = -1});
  EXPECT_EQ(padded->fields().back().name, "lengths");
  const Batch p = **padded->next();
  EXPECT_EQ(p.tensors[0].dims(), (Dims{5, 8}));
  EXPECT_EQ(to_int64s(p.tensors[2]), (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(p.tensors[0].data<std::int64_t>()[8], 1);
  EXPECT_EQ(p.tensors[0].data<std::int64_t>()[10], -1);
  auto packed = make(source, {.batch = 5, .shuffle = false, .collate = Collate::pack});
  const Batch q = **packed->next();
  EXPECT_EQ(q.tensors[0].dims(), (Dims{15}));
  EXPECT_EQ(to_int64s(q.tensors[2]), (std::vector<std::int64_t>{0, 1, 3, 6, 10, 15}));
  EXPECT_EQ(to_int64s(q.tensors[1]), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST(Loader, BucketsHoldLikeLengths) {
  const auto source = std::make_shared<Texts>();
  auto loader = make(source, {.batch = 10, .drop_last = false, .epochs = 1, .bucket_batches = 20});
  std::int64_t padded = 0, real = 0, samples = 0;
  while (true) {
    const auto batch = loader->next();
    ASSERT_TRUE(batch.ok());
    if (!*batch) break;
    padded += (*batch)->tensors[0].count();
    samples += (*batch)->size;
    for (auto n : to_int64s((*batch)->tensors[2])) real += n;
  }
  EXPECT_EQ(samples, 200);
  EXPECT_EQ(real, 600);
  EXPECT_EQ(padded, 600) << "one stretch of all samples sorts perfectly";
}

TEST(Loader, PacksFillABudget) {
  const auto source = std::make_shared<Texts>();  // 600 tokens
  const LoaderOptions o{
      .batch = 2, .drop_last = false, .epochs = 2, .collate = Collate::pack, .pack_tokens = 15};
  auto loader = make(source, o);
  std::multiset<std::int64_t> seen;
  std::int64_t batches = 0;
  while (const auto batch = loader->next().value()) {
    const auto offsets = to_int64s(batch->tensors[2]), labels = to_int64s(batch->tensors[1]);
    ASSERT_EQ(offsets.size(), labels.size() + 1);
    EXPECT_EQ(batch->size, static_cast<std::int64_t>(labels.size()));
    EXPECT_LE(batch->tensors[0].dim(0), 30);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      EXPECT_EQ(offsets[i + 1] - offsets[i], labels[i] % 5 + 1);
      EXPECT_EQ(batch->tensors[0].data<std::int64_t>()[offsets[i]], labels[i]);
      seen.insert(labels[i]);
    }
    ++batches;
  }
  for (std::int64_t i = 0; i < 200; ++i) EXPECT_EQ(seen.count(i), 2u) << "each once an epoch";
  EXPECT_EQ(batches, 40) << "no token of the budget stays unused";
  EXPECT_FALSE(Loader::create(source, {}, {.pack_tokens = 15}).ok()) << "with padding";
  EXPECT_FALSE(Loader::create(std::make_shared<Numbers>(9), {},
                              {.batch = 1, .collate = Collate::pack, .pack_tokens = 15})
                   .ok())
      << "nothing varies";
}

TEST(Loader, PacksResumeUnderAnyNumberOfWorkers) {
  const auto source = std::make_shared<Texts>();
  LoaderOptions o{.batch = 3, .collate = Collate::pack, .pack_tokens = 11};
  const Seen whole = take(*make(source, o), 30);
  for (const int workers : {0, 1, 3})
    for (const std::int64_t at : {0, 1, 17}) {
      o.workers = workers;
      auto before = make(source, o);
      take(*before, at);
      const Seen rest = take(*make(source, o, before->state()), 30 - at);
      EXPECT_TRUE(std::equal(rest.bytes.begin(), rest.bytes.end(), whole.bytes.begin() + at));
    }
}

TEST(Packs, LongOnesStandAlone) {
  const Texts source;
  const Packs packs(source, 3, 1);
  std::int64_t samples = 0;
  for (std::int64_t p = 0; p < packs.size(); ++p) {
    std::int64_t total = 0;
    for (const std::int64_t i : packs[p]) total += source.length(i);
    EXPECT_TRUE(total <= 3 || packs[p].size() == 1);
    samples += static_cast<std::int64_t>(packs[p].size());
  }
  EXPECT_EQ(samples, 200);
}

TEST(Loader, WrongOptionsAreRefused) {
  const auto source = std::make_shared<Numbers>(10);
  const auto refused = [&](LoaderOptions o) { return !Loader::create(source, {}, o).ok(); };
  EXPECT_TRUE(refused({.batch = 0}));
  EXPECT_TRUE(refused({.batch = 11}));
  EXPECT_TRUE(refused({.batch = 2, .prefetch = 0}));
  EXPECT_TRUE(refused({.batch = 2, .rank = 2, .ranks = 2}));
  EXPECT_TRUE(refused({.batch = 2, .timeout_seconds = 0}));
  EXPECT_FALSE(Loader::create(source, {}, {.batch = 2}, LoaderState{0, 0, 11}).ok());
  EXPECT_FALSE(Loader::create(source, {normalize_picture({0}, {1})}, {.batch = 2}).ok());
  EXPECT_TRUE(make(source, {.batch = 2}, LoaderState{0, 0, 10})->next().ok())
      << "the end of an epoch is the start of the next";
}

TEST(Loader, DestroyedAtAnyMoment) {
  const auto source = std::make_shared<Numbers>(1000);
  source->slow = true;
  for (int i = 0; i < 30; ++i) {
    auto loader = make(source, {.batch = 7, .workers = 3});
    take(*loader, i % 4);
  }
}

TEST(Order, SubstitutesAndIndicesArePure) {
  const auto source = std::make_shared<Numbers>(50);
  const Order order(source, {.seed = 1, .batch = 5});
  Order::Walk a(order), b(order);
  for (std::int64_t p = 49; p >= 0; --p) EXPECT_EQ(a.index(3, p), (b.index(2, p), b.index(3, p)));
  EXPECT_EQ(a.substitute(0, 3, 1), b.substitute(0, 3, 1));
  EXPECT_NE(a.substitute(0, 3, 1), a.substitute(0, 3, 2));
}

}  // namespace
}  // namespace tenon::dataset
