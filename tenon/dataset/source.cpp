// Values, and sources made of other sources.
#include "tenon/dataset/source.h"

#include <algorithm>
#include <cstring>

namespace tenon::dataset {
namespace {

class Concatenated : public Source {
 public:
  explicit Concatenated(std::vector<SourcePtr> sources) : sources_(std::move(sources)) {
    for (const SourcePtr& s : sources_)
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + s->size());
  }
  std::int64_t size() const override { return ends_.back(); }
  const Fields& fields() const override { return sources_[0]->fields(); }
  Status read(std::int64_t index, Item& item) const override {
    const auto [source, at] = place(index);
    return source->read(at, item);
  }
  std::string describe(std::int64_t index) const override {
    const auto [source, at] = place(index);
    return source->describe(at);
  }
  std::int64_t length(std::int64_t index) const override {
    const auto [source, at] = place(index);
    return source->length(at);
  }
  const std::vector<std::string>& classes() const override { return sources_[0]->classes(); }
  const std::vector<std::int64_t>& category_sizes() const override {
    return sources_[0]->category_sizes();
  }

 private:
  std::pair<const Source*, std::int64_t> place(std::int64_t index) const {
    const auto k = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) -
                                            ends_.begin());
    return {sources_[k].get(), index - (k ? ends_[k - 1] : 0)};
  }
  std::vector<SourcePtr> sources_;
  std::vector<std::int64_t> ends_;
};

class Chosen : public Source {
 public:
  Chosen(SourcePtr source, std::vector<std::int64_t> indices)
      : source_(std::move(source)), indices_(std::move(indices)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(indices_.size()); }
  const Fields& fields() const override { return source_->fields(); }
  Status read(std::int64_t index, Item& item) const override {
    return source_->read(at(index), item);
  }
  std::string describe(std::int64_t index) const override { return source_->describe(at(index)); }
  std::int64_t length(std::int64_t index) const override { return source_->length(at(index)); }
  const std::vector<std::string>& classes() const override { return source_->classes(); }
  const std::vector<std::int64_t>& category_sizes() const override {
    return source_->category_sizes();
  }

 private:
  std::int64_t at(std::int64_t index) const { return indices_[static_cast<std::size_t>(index)]; }
  SourcePtr source_;
  std::vector<std::int64_t> indices_;
};

bool same(const Fields& a, const Fields& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Field& x, const Field& y) {
    return x.name == y.name && x.dtype == y.dtype && x.dims == y.dims;
  });
}

}  // namespace

bool is_fixed(const Field& field) {
  return field.dtype != DType::string &&
         std::none_of(field.dims.begin(), field.dims.end(), [](auto d) { return d < 0; });
}

void Value::borrow(DType type, const Dims& shape, const void* from) {
  dtype = type;
  dims = shape;
  data = static_cast<const std::uint8_t*>(from);
  encoded = false;
}

std::uint8_t* Value::own(DType type, const Dims& shape) {
  dtype = type;
  dims = shape;
  storage.resize(bytes());
  data = storage.data();
  encoded = false;
  return storage.data();
}

std::uint8_t* Value::writable() {
  if (data != storage.data()) {
    storage.assign(data, data + bytes());
    data = storage.data();
  }
  return storage.data();
}

void Value::set(std::int64_t number) { std::memcpy(own(DType::i64, {}), &number, sizeof number); }
void Value::set(float number) { std::memcpy(own(DType::f32, {}), &number, sizeof number); }

const std::vector<std::string>& Source::classes() const {
  static const std::vector<std::string> none;
  return none;
}

const std::vector<std::int64_t>& Source::category_sizes() const {
  static const std::vector<std::int64_t> none;
  return none;
}

Result<SourcePtr> concatenated(std::vector<SourcePtr> sources) {
  if (sources.empty()) return invalid("no sources to join");
  for (const SourcePtr& s : sources)
    if (!same(s->fields(), sources[0]->fields()))
      return invalid("'{}' and '{}' hold different fields",
                     sources[0]->size() ? sources[0]->describe(0) : "the first source",
                     s->size() ? s->describe(0) : "another");
  if (sources.size() == 1) return sources[0];
  return SourcePtr(std::make_shared<Concatenated>(std::move(sources)));
}

SourcePtr part_of(SourcePtr source, double from, double to, std::uint64_t seed) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < source->size(); ++i) {
    const double place =
        static_cast<double>(mix_key(seed, static_cast<std::uint64_t>(i), 0x73706c69) >> 11) *
        0x1p-53;
    if (place >= from && place < to) indices.push_back(i);
  }
  return std::make_shared<Chosen>(std::move(source), std::move(indices));
}

SourcePtr range_of(SourcePtr source, std::int64_t first, std::int64_t count) {
  TENON_CHECK(first >= 0 && count >= 0 && first + count <= source->size(), "samples {} to {} of {}",
              first, first + count, source->size());
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) indices[static_cast<std::size_t>(i)] = first + i;
  return std::make_shared<Chosen>(std::move(source), std::move(indices));
}

}  // namespace tenon::dataset
