// Sources of training samples: random access by number, safe from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/random.h"
#include "tenon/base/tensor.h"
#include "tenon/dataset/image.h"

namespace tenon::dataset {

/// What a sample holds under one name. A dim of -1 differs from sample to sample.
struct Field {
  std::string name;
  DType dtype = DType::f32;
  Dims dims;
};
using Fields = std::vector<Field>;
bool is_fixed(const Field& field);

/// One field of one sample: borrowed from the source or held here. Reused from sample to sample, so
/// that steady reading allocates nothing.
struct Value {
  Value() = default;
  Value(Value&&) = default;
  Value& operator=(Value&&) = default;
  Value(const Value&) = delete;  // `data` may point into the other's storage

  DType dtype = DType::undefined;
  Dims dims;
  const std::uint8_t* data = nullptr;
  std::vector<std::uint8_t> storage;
  bool encoded = false;  // `data` is a PNG or JPEG file of dims[0] bytes, and what it is to become:
  Color color = Color::rgb;
  int background = -1;  // under transparent pixels; -1 drops the alpha channel

  std::size_t bytes() const {
    return static_cast<std::size_t>(num_elements(dims)) * static_cast<std::size_t>(size_of(dtype));
  }
  void borrow(DType type, const Dims& shape, const void* from);
  /// Room for the elements in `storage`, not initialised.
  std::uint8_t* own(DType type, const Dims& shape);
  /// The elements for changing in place; borrowed ones are copied first.
  std::uint8_t* writable();
  void set(std::int64_t number);  // a scalar i64
  void set(float number);         // a scalar f32
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data), bytes() / sizeof(T)};
  }
};

/// One sample while it is made, and what its random choices are drawn from.
struct Item {
  std::int64_t index = 0;
  std::vector<Value> values;  // in the order of the fields
  CounterRandom random{0};    // by seed, epoch and index: never by thread
};

class Source {
 public:
  virtual ~Source() = default;
  virtual std::int64_t size() const = 0;
  virtual const Fields& fields() const = 0;
  /// Fills item.values for 0 <= index < size(). The error names the file.
  virtual Status read(std::int64_t index, Item& item) const = 0;
  /// "folder/file.jpg", "train.csv line 17": for reports.
  virtual std::string describe(std::int64_t index) const = 0;
  /// How long the sample is, in tokens or samples: for batches of like length. 1 where it has no
  /// length.
  virtual std::int64_t length(std::int64_t) const { return 1; }
  /// Names of the classes of a label field, where the source knows them.
  virtual const std::vector<std::string>& classes() const;
  /// Of a field `categories`: how many numbers each column can hold, for embedding tables.
  virtual const std::vector<std::int64_t>& category_sizes() const;
};
using SourcePtr = std::shared_ptr<const Source>;

/// Sources of equal fields, one after the other (shards).
Result<SourcePtr> concatenated(std::vector<SourcePtr> sources);
/// The part of a source that falls into [from, to) of [0, 1) by a hash of its sample numbers: the
/// same samples whatever else happens, for holding some back.
SourcePtr part_of(SourcePtr source, double from, double to, std::uint64_t seed);
/// The samples [first, first + count) of a source.
SourcePtr range_of(SourcePtr source, std::int64_t first, std::int64_t count);

}  // namespace tenon::dataset
