// Keys to options and back.
#include "tenon/train/config.h"

#include "tenon/base/toml.h"

namespace tenon::train {
namespace fs = std::filesystem;
namespace {

// A section that may be missing.
Json section(const Json& file, const char* name) {
  return file.contains(name) && file[name].is_object() ? file[name] : Json::object();
}

void read_train(ObjectReader& r, TrainConfig& c) {
  r.integer("steps", c.steps, 0);
  r.integer("epochs", c.epochs, 0);
  r.integer("batch", c.batch);
  r.integer("micro_batches", c.micro_batches);
  r.integer("evaluate_every", c.evaluate_every, 0);
  r.integer("evaluate_batch", c.evaluate_batch, 0);
  r.integer("memory_budget_bytes", c.memory_budget_bytes, 0);
  int cache = 0;
  const std::vector<std::string> caches = {"off", "lru", "cost_lru", "dtr"};
  r.choice("cache", caches, cache);
  c.cache = caches[static_cast<std::size_t>(cache)];
  r.text("target", c.target);
  r.text("answer", c.answer);
  c.loss = read_loss(r);
  if (c.batch % c.micro_batches)
    r.problem(invalid("batch is {} but micro_batches is {}, which does not divide it", c.batch,
                      c.micro_batches)
                  .at(r.where()));
  if (c.steps == 0 && c.epochs == 0)
    r.problem(invalid("steps and epochs are both 0").at(r.where()));
}

void read_top(ObjectReader& r, TrainConfig& c) {
  std::int64_t seed = 0;
  r.integer("seed", seed, 0);
  c.seed = static_cast<std::uint64_t>(seed);
  int precision = 0;
  const std::vector<std::string> precisions = {"fp32", "bf16", "fp16"};
  r.choice("precision", precisions, precision);
  c.precision = precisions[static_cast<std::size_t>(precision)];
  r.integer("threads", c.threads, 0, 4096);
  r.text("backend", c.backend);
  for (const char* name : {"data", "model", "optimizer", "schedule", "train", "checkpoint"})
    if (const Json* v = r.child(name); v && !v->is_object())
      r.problem(invalid("'{}' must be a section", name).at(r.where()));
}

// What is written down but does not exist yet is refused rather than ignored.
void refuse_missing(const TrainConfig& c, const std::string& where, std::vector<Error>& problems) {
  if (c.precision != "fp32")
    problems.push_back(unsupported("precision {} does not train yet", c.precision).at(where));
  if (c.cache != "off")
    problems.push_back(unsupported("cache {} does not exist yet", c.cache)
                           .at(where)
                           .with_help("set train.cache to \"off\""));
}

}  // namespace

Result<TrainConfig> parse_train_config(Json file, const fs::path& folder, const std::string& where,
                                       const std::vector<std::string>& sets) {
  for (const std::string& set : sets) {
    const auto at = set.find('=');
    if (at == std::string::npos || at == 0)
      return invalid("--set takes key=value but '{}' is given", set);
    TENON_TRY(set_toml_key(file, set.substr(0, at), set.substr(at + 1)));
  }
  std::vector<Error> problems;
  TrainConfig c;
  c.folder = folder;
  ObjectReader top(file, where, problems);
  read_top(top, c);
  top.require("data");
  top.require("model");
  top.finish();
  c.data = section(file, "data"), c.model = section(file, "model");
  const auto within = [&](const char* name, auto read) {
    const Json keys = section(file, name);
    ObjectReader r(keys, fmt::format("{}: {}", where, name), problems);
    read(r);
    r.finish();
  };
  within("optimizer", [&](ObjectReader& r) { c.optimizer = read_optimizer(r); });
  within("schedule", [&](ObjectReader& r) { c.schedule = read_schedule(r); });
  within("train", [&](ObjectReader& r) { read_train(r, c); });
  within("checkpoint", [&](ObjectReader& r) {
    r.integer("every", c.checkpoint_every, 0);
    r.integer("keep", c.keep, 1);
  });
  refuse_missing(c, where, problems);
  if (!problems.empty()) return all_of(std::move(problems));
  return c;
}

Result<TrainConfig> read_train_config(const fs::path& file, const std::vector<std::string>& sets) {
  std::error_code e;
  if (!fs::exists(file, e))
    return not_found("there is no training file at this path").at(file.string());
  return parse_train_config(TENON_TRY(read_toml(file)), fs::absolute(file).parent_path(),
                            file.string(), sets);
}

namespace {

// The keys of a section that hold paths, absolute: the run's folder is another place.
Json with_absolute_paths(Json section, const fs::path& folder) {
  for (const char* key : {"path", "test_path", "tokenizer"}) {
    if (!section.contains(key) || !section[key].is_string()) continue;
    const fs::path given(section[key].get<std::string>()), below = folder / given;
    std::error_code e;
    section[key] = fs::absolute(fs::exists(below, e) ? below : given).lexically_normal().string();
  }
  return section;
}

}  // namespace

Json resolved(const TrainConfig& c) {
  Json train = to_json(c.loss);
  train.update({{"steps", c.steps},
                {"epochs", c.epochs},
                {"batch", c.batch},
                {"micro_batches", c.micro_batches},
                {"evaluate_every", c.evaluate_every},
                {"evaluate_batch", c.evaluate_batch},
                {"memory_budget_bytes", c.memory_budget_bytes},
                {"cache", c.cache},
                {"target", c.target},
                {"answer", c.answer}});
  return {{"seed", c.seed},
          {"precision", c.precision},
          {"threads", c.threads},
          {"backend", c.backend},
          {"data", with_absolute_paths(c.data, c.folder)},
          {"model", with_absolute_paths(c.model, c.folder)},
          {"optimizer", to_json(c.optimizer)},
          {"schedule", to_json(c.schedule)},
          {"train", train},
          {"checkpoint", {{"every", c.checkpoint_every}, {"keep", c.keep}}}};
}

}  // namespace tenon::train
