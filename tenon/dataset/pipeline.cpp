// The table, the sources and the loaders of one run.
#include "tenon/dataset/pipeline.h"

namespace tenon::dataset {

Result<Pipeline> open_pipeline(const Json& data, const PipelineOptions& options) {
  Pipeline out;
  out.options_ = options;
  out.config_ = TENON_TRY(parse_data_config(data, options.folder, options.where));
  LoaderOptions& loader = out.config_.loader;
  loader.batch = options.batch;
  loader.seed = options.seed;
  loader.epochs = options.epochs;
  loader.workers = options.workers.value_or(loader.workers);
  loader.rank = options.rank;
  loader.ranks = options.ranks;
  out.train_ = TENON_TRY(open_train_source(out.config_));
  out.test_ = TENON_TRY(open_test_source(out.config_));
  return out;
}

Result<std::unique_ptr<Loader>> Pipeline::train(std::optional<LoaderState> start) const {
  return Loader::create(train_, config_.transforms, config_.loader, start);
}

Result<std::unique_ptr<Loader>> Pipeline::test() const {
  if (!test_)
    return not_found("{} holds no test samples", options_.where)
        .with_help("test_path, test_images or held_out");
  LoaderOptions o = config_.loader;
  o.shuffle = false;
  o.drop_last = false;
  o.epochs = 1;
  o.bucket_batches = 0;
  return Loader::create(test_, config_.test_transforms, o);
}

}  // namespace tenon::dataset
