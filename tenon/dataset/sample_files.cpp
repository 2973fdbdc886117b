// From values to tensors, one at a time.
#include "tenon/dataset/sample_files.h"

#include <algorithm>
#include <cstring>

#include "tenon/dataset/audio.h"
#include "tenon/dataset/image.h"
#include "tenon/dataset/table.h"

namespace tenon::dataset {
namespace {

Tensor column_tensor(const Column& c) {
  if (!c.is_text) return Tensor::of<double>({c.size()}, c.numbers);
  Tensor t(DType::string, {c.size()});
  for (std::size_t i = 0; i < c.codes.size(); ++i)
    if (c.codes[i] >= 0) t.data<std::string>()[i] = c.texts[static_cast<std::size_t>(c.codes[i])];
  return t;
}

Tensor value_tensor(const Value& v) {
  Tensor t(v.dtype, v.dims);
  if (t.bytes()) std::memcpy(t.raw(), v.data, t.bytes());
  return t;
}

// Not by seed: a check must find the same errors every time.
class Checked : public Source {
 public:
  Checked(SourcePtr source, std::vector<TransformPtr> transforms)
      : source_(std::move(source)), transforms_(std::move(transforms)) {}
  std::int64_t size() const override { return source_->size(); }
  const Fields& fields() const override { return fields_; }
  std::string describe(std::int64_t index) const override { return source_->describe(index); }
  Status read(std::int64_t index, Item& item) const override {
    thread_local Item inner;
    inner.index = index;
    inner.random = CounterRandom(0, static_cast<std::uint64_t>(index));
    TENON_TRY(source_->read(index, inner));
    for (const TransformPtr& t : transforms_) TENON_TRY(t->apply(inner));
    for (Value& v : inner.values)
      if (v.encoded) TENON_TRY(take_picture(v));  // no transform has decoded it
    item.values.resize(1);
    item.values[0].set(index);
    return {};
  }

 private:
  SourcePtr source_;
  std::vector<TransformPtr> transforms_;
  Fields fields_ = {{"index", DType::i64, {}}};
};

}  // namespace

Result<NamedTensors> read_as_arrays(const std::filesystem::path& file) {
  std::string extension = file.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  NamedTensors out;
  if (extension == ".wav") {
    const Audio audio = TENON_TRY(read_wav(file));
    const Tensor t = Tensor::vector(audio.samples);
    const auto frames = static_cast<std::int64_t>(audio.num_frames());
    out.emplace_back("", audio.channels == 1 ? t : t.reshaped({frames, audio.channels}));
  } else if (extension == ".csv" || extension == ".parquet" || extension == ".arrow") {
    for (const Column& c : TENON_TRY(extension == ".csv"       ? read_csv(file, {})
                                     : extension == ".parquet" ? read_parquet(file, {})
                                                               : read_arrow(file, {})))
      out.emplace_back(c.name, column_tensor(c));
  } else {
    out.emplace_back("", to_tensor(to_color(TENON_TRY(read_image(file)), Color::rgb)));
  }
  return out;
}

Result<NamedTensors> sample_as_arrays(const Source& source,
                                      const std::vector<TransformPtr>& transforms,
                                      std::int64_t index, std::uint64_t seed) {
  Item item;
  item.index = index;
  item.random = CounterRandom(mix_key(seed, 0), static_cast<std::uint64_t>(index));
  TENON_TRY_AT(source.describe(index), source.read(index, item));
  for (const TransformPtr& t : transforms) TENON_TRY_AT(source.describe(index), t->apply(item));
  NamedTensors out;
  Fields fields = source.fields();
  for (const TransformPtr& t : transforms) fields = TENON_TRY(t->fields(fields));
  for (std::size_t i = 0; i < item.values.size(); ++i) {
    if (item.values[i].encoded)
      put_picture(item.values[i],
                  TENON_TRY_AT(source.describe(index), take_picture(item.values[i])));
    out.emplace_back(fields[i].name, value_tensor(item.values[i]));
  }
  return out;
}

SourcePtr checked(SourcePtr source, std::vector<TransformPtr> transforms) {
  return std::make_shared<Checked>(std::move(source), std::move(transforms));
}

}  // namespace tenon::dataset
