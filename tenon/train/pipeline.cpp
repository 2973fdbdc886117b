// Sources by [data], loaders by what a run needs of them.
#include "tenon/train/pipeline.h"

#include <algorithm>

#include "tenon/dataset/data_config.h"
#include "tenon/train/random_source.h"

namespace tenon::train {

Result<Pipeline> open_pipeline(const TrainConfig& config) {
  const std::string where = "data";
  Pipeline p;
  if (config.data.value("kind", "") == "random") {
    p.train = TENON_TRY(random_source(config.data, where, config.seed));
  } else {
    const auto data = TENON_TRY(dataset::parse_data_config(config.data, config.folder, where));
    p.train = TENON_TRY(dataset::open_train_source(data));
    p.test = TENON_TRY(dataset::open_test_source(data));
    p.transforms = data.transforms, p.test_transforms = data.test_transforms;
    p.loader = data.loader;
  }
  p.loader.batch = config.batch / config.micro_batches;
  p.loader.seed = config.seed;
  p.loader.epochs = 0;
  if (p.train->size() < p.loader.batch)
    return invalid("there are {} samples, fewer than a batch of {}", p.train->size(),
                   p.loader.batch)
        .at(where);
  return p;
}

Result<std::unique_ptr<dataset::Loader>> Pipeline::training(
    std::optional<dataset::LoaderState> start) const {
  return dataset::Loader::create(train, transforms, loader, start);
}

Result<std::unique_ptr<dataset::Loader>> Pipeline::testing(std::int64_t batch) const {
  dataset::LoaderOptions options = loader;
  options.batch = std::min(batch, test->size());
  options.shuffle = false;
  options.drop_last = false;
  options.bucket_batches = 0;
  options.epochs = 1;
  return dataset::Loader::create(test, test_transforms, options);
}

std::vector<models::InputField> sample_fields(const dataset::Loader& loader) {
  std::vector<models::InputField> fields;
  for (const dataset::Field& f : loader.fields())
    fields.push_back({f.name, f.dtype, Dims(f.dims.begin() + 1, f.dims.end())});
  return fields;
}

std::vector<BatchField> batch_fields(const dataset::Loader& loader, std::int64_t batch) {
  std::vector<BatchField> fields;
  for (const dataset::Field& f : loader.fields()) {
    Shape shape = {batch > 0 ? Dim(batch) : Dim::symbol("batch")};
    for (std::size_t i = 1; i < f.dims.size(); ++i)
      shape.push_back(f.dims[i] >= 0 ? Dim(f.dims[i]) : Dim::symbol(fmt::format("length_{}", i)));
    fields.push_back({f.name, Type(f.dtype, std::move(shape))});
  }
  return fields;
}

Result<std::string> target_field(const dataset::Loader& loader, const std::string& wanted) {
  std::string have;
  for (const std::string& name : wanted.empty()
                                     ? std::vector<std::string>{"label", "targets", "boxes"}
                                     : std::vector<std::string>{wanted})
    for (const dataset::Field& f : loader.fields())
      if (f.name == name) return name;
  for (const dataset::Field& f : loader.fields()) have += (have.empty() ? "" : ", ") + f.name;
  return not_found("the samples have no target (they have {})", have)
      .with_help("name the field with train.target");
}

}  // namespace tenon::train
