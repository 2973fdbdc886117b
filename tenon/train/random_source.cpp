// Every sample is a pure function of its number.
#include "tenon/train/random_source.h"

#include "tenon/base/object_reader.h"

namespace tenon::train {
namespace {

struct Drawn {
  dataset::Field field;
  std::int64_t below = 0;  // integers
  bool is_uniform = false;
};

class RandomSource : public dataset::Source {
 public:
  RandomSource(std::vector<Drawn> drawn, std::int64_t size, std::uint64_t seed)
      : drawn_(std::move(drawn)), size_(size), seed_(seed) {
    for (const Drawn& d : drawn_) fields_.push_back(d.field);
  }
  std::int64_t size() const override { return size_; }
  const dataset::Fields& fields() const override { return fields_; }
  std::string describe(std::int64_t index) const override {
    return fmt::format("random sample {}", index);
  }
  Status read(std::int64_t index, dataset::Item& item) const override {
    item.values.resize(drawn_.size());
    for (std::size_t i = 0; i < drawn_.size(); ++i) {
      const Drawn& d = drawn_[i];
      std::uint8_t* to = item.values[i].own(d.field.dtype, d.field.dims);
      const auto n = static_cast<std::size_t>(num_elements(d.field.dims));
      const std::uint64_t stream = mix_key(static_cast<std::uint64_t>(index), i);
      if (d.below > 0) {
        CounterRandom random(seed_, stream);
        auto* out = reinterpret_cast<std::int64_t*>(to);
        for (std::size_t k = 0; k < n; ++k)
          out[k] = random.below(static_cast<std::uint32_t>(d.below));
        continue;
      }
      const std::span<float> out(reinterpret_cast<float*>(to), n);
      d.is_uniform ? fill_uniform(out, seed_, stream) : fill_normal(out, seed_, stream);
    }
    return {};
  }

 private:
  std::vector<Drawn> drawn_;
  dataset::Fields fields_;
  std::int64_t size_;
  std::uint64_t seed_;
};

}  // namespace

Result<dataset::SourcePtr> random_source(const Json& data, const std::string& where,
                                         std::uint64_t seed) {
  std::vector<Error> problems;
  std::int64_t samples = 1024;
  std::vector<Drawn> drawn;
  ObjectReader r(data, where, problems);
  for (const char* known : {"kind", "workers", "prefetch", "shuffle"}) r.child(known);
  r.integer("samples", samples);
  r.require("fields");
  if (const Json* fields = r.child("fields"); fields && fields->is_object())
    for (const auto& [name, spec] : fields->items()) {
      Drawn d;
      ObjectReader f(spec, fmt::format("{}: fields.{}", where, name), problems);
      std::vector<int> dims;
      f.integers("dims", dims, 1);
      f.integer("below", d.below, 0, std::int64_t{1} << 31);
      f.boolean("uniform", d.is_uniform);
      f.finish();
      d.field = {name, d.below > 0 ? DType::i64 : DType::f32, Dims(dims.begin(), dims.end())};
      drawn.push_back(std::move(d));
    }
  r.finish();
  if (drawn.empty()) problems.push_back(invalid("'fields' names no field").at(where));
  if (!problems.empty()) return all_of(std::move(problems));
  return dataset::SourcePtr(std::make_shared<RandomSource>(std::move(drawn), samples, seed));
}

}  // namespace tenon::train
