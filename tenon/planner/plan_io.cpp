// Plans as JSON and TOML.
#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "tenon/base/object_reader.h"
#include "tenon/planner/plan.h"

namespace tenon::planner {
namespace {

using nlohmann::json;

/// Names of the first `count` values of an enum, for ObjectReader::choice.
template <class Enum>
std::vector<std::string> names_of(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.emplace_back(name(static_cast<Enum>(i)));
  return names;
}

template <class Enum>
void read_enum(ObjectReader& reader, const char* key, int count, Enum& value) {
  int index = static_cast<int>(value);
  reader.choice(key, names_of<Enum>(count), index);
  value = static_cast<Enum>(index);
}

template <class Enum>
void read_enums(ObjectReader& reader, const char* key, int count, std::vector<Enum>& values) {
  std::vector<std::string> texts;
  reader.texts(key, texts);
  const auto names = names_of<Enum>(count);
  for (const auto& text : texts) {
    bool found = false;
    for (int i = 0; i < count && !found; ++i) {
      found = names[static_cast<std::size_t>(i)] == text;
      if (found) values.push_back(static_cast<Enum>(i));
    }
    if (!found) reader.problem(invalid("{} has no choice '{}'", key, text));
  }
}

template <class T, class Read>
void read_optional(ObjectReader& reader, const char* key, std::optional<T>& value, Read read) {
  T got{};
  const bool there = reader.has(key);
  read(got);
  if (there) value = got;
}

void read_degree(ObjectReader& reader, const char* key, int low, std::optional<int>& value) {
  read_optional(reader, key, value, [&](int& got) { reader.integer(key, got, low); });
}

LayerOverride read_override(const json& table, const std::string& where,
                            std::vector<Error>& problems) {
  LayerOverride override;
  ObjectReader reader(table, where, problems);
  reader.require("match");
  reader.text("match", override.match);
  read_degree(reader, "tensor_parallel", 1, override.tensor_parallel);
  read_degree(reader, "context_parallel", 1, override.context_parallel);
  read_degree(reader, "expert_parallel", 1, override.expert_parallel);
  read_degree(reader, "zero_stage", 0, override.zero_stage);
  read_optional(reader, "sequence_parallel", override.sequence_parallel,
                [&](bool& got) { reader.boolean("sequence_parallel", got); });
  read_optional(reader, "recompute", override.recompute,
                [&](Recompute& got) { read_enum(reader, "recompute", 3, got); });
  read_optional(reader, "precision", override.precision,
                [&](Precision& got) { read_enum(reader, "precision", kNumPrecisions, got); });
  read_optional(reader, "offload", override.offload,
                [&](Offload& got) { read_enum(reader, "offload", 4, got); });
  reader.finish();
  return override;
}

void read_scalars(ObjectReader& reader, Plan& plan) {
  reader.integer("data_parallel", plan.data_parallel);
  reader.integer("tensor_parallel", plan.tensor_parallel);
  reader.integer("pipeline_parallel", plan.pipeline_parallel);
  reader.integer("context_parallel", plan.context_parallel);
  reader.integer("expert_parallel", plan.expert_parallel);
  reader.boolean("sequence_parallel", plan.sequence_parallel);
  reader.integer("zero_stage", plan.zero_stage, 0, 3);
  reader.integer("zero_group", plan.zero_group, 0);
  reader.integer("micro_batch", plan.micro_batch);
  reader.integer("global_batch", plan.global_batch);
  read_enum(reader, "schedule", kNumSchedules, plan.schedule);
  reader.integer("virtual_stages", plan.virtual_stages);
  read_enum(reader, "recompute", 3, plan.recompute);
  reader.integer("recompute_layers", plan.recompute_layers, 0);
  read_enum(reader, "precision", kNumPrecisions, plan.precision);
  read_enum(reader, "optimizer", 6, plan.optimizer);
  read_enum(reader, "offload", 4, plan.offload);
  read_enum(reader, "gradient_compression", 3, plan.gradient_compression);
  read_enum(reader, "context_method", 2, plan.context_method);
  read_enum(reader, "collective", 4, plan.collective);
}

void read_lists(ObjectReader& reader, Plan& plan, std::vector<Error>& problems) {
  reader.integers("layers_per_stage", plan.layers_per_stage, 0);
  reader.integers("micro_batches_per_stage", plan.micro_batches_per_stage, 1);
  read_enums(reader, "recompute_per_stage", 3, plan.recompute_per_stage);
  read_enums(reader, "placement", kNumAxes, plan.placement);
  const json* layers = reader.child("layers");
  if (layers == nullptr) return;
  if (!layers->is_array()) return reader.problem(invalid("layers must be a list of tables"));
  for (std::size_t i = 0; i < layers->size(); ++i) {
    const std::string where = fmt::format("{}: layers[{}]", reader.where(), i);
    plan.layers.push_back(read_override((*layers)[i], where, problems));
  }
}

std::string embedded(ObjectReader& reader, const char* key) {
  const json* found = reader.child(key);
  return found == nullptr ? std::string() : found->dump();
}

nlohmann::ordered_json override_json(const LayerOverride& layer) {
  nlohmann::ordered_json object = {{"match", layer.match}};
  if (layer.tensor_parallel) object["tensor_parallel"] = *layer.tensor_parallel;
  if (layer.context_parallel) object["context_parallel"] = *layer.context_parallel;
  if (layer.expert_parallel) object["expert_parallel"] = *layer.expert_parallel;
  if (layer.zero_stage) object["zero_stage"] = *layer.zero_stage;
  if (layer.sequence_parallel) object["sequence_parallel"] = *layer.sequence_parallel;
  if (layer.recompute) object["recompute"] = name(*layer.recompute);
  if (layer.precision) object["precision"] = name(*layer.precision);
  if (layer.offload) object["offload"] = name(*layer.offload);
  return object;
}

template <class Enum>
nlohmann::ordered_json names_json(const std::vector<Enum>& values) {
  auto list = nlohmann::ordered_json::array();
  for (Enum value : values) list.push_back(name(value));
  return list;
}

void add_lists(const Plan& plan, nlohmann::ordered_json& object) {
  if (!plan.layers_per_stage.empty()) object["layers_per_stage"] = plan.layers_per_stage;
  if (!plan.micro_batches_per_stage.empty()) {
    object["micro_batches_per_stage"] = plan.micro_batches_per_stage;
  }
  if (!plan.recompute_per_stage.empty()) {
    object["recompute_per_stage"] = names_json(plan.recompute_per_stage);
  }
  if (!plan.placement.empty()) object["placement"] = names_json(plan.placement);
  if (plan.layers.empty()) return;
  object["layers"] = nlohmann::ordered_json::array();
  for (const auto& layer : plan.layers) object["layers"].push_back(override_json(layer));
}

}  // namespace

Result<PlanFile> parse_plan(std::string_view text, std::string_view where) {
  json tree = TENON_TRY(parse_config(text, where));
  if (tree.is_object() && tree.contains("plan") && tree["plan"].is_object()) {
    json inner = tree["plan"];
    tree = std::move(inner);
  }
  std::vector<Error> problems;
  ObjectReader reader(tree, std::string(where), problems);
  PlanFile file;
  for (const char* key : {"data_parallel", "micro_batch", "global_batch"}) reader.require(key);
  std::string schema;
  reader.text("schema", schema);
  read_scalars(reader, file.plan);
  read_lists(reader, file.plan, problems);
  file.model_json = embedded(reader, "model");
  file.cluster_json = embedded(reader, "cluster");
  reader.finish();
  if (!problems.empty()) return all_of(std::move(problems));
  return file;
}

nlohmann::ordered_json to_json(const Plan& plan) {
  nlohmann::ordered_json object = {{"schema", "tenon.plan/1"},
                                   {"data_parallel", plan.data_parallel},
                                   {"tensor_parallel", plan.tensor_parallel},
                                   {"pipeline_parallel", plan.pipeline_parallel},
                                   {"context_parallel", plan.context_parallel},
                                   {"expert_parallel", plan.expert_parallel},
                                   {"sequence_parallel", plan.sequence_parallel},
                                   {"zero_stage", plan.zero_stage},
                                   {"zero_group", plan.zero_group},
                                   {"micro_batch", plan.micro_batch},
                                   {"global_batch", plan.global_batch},
                                   {"schedule", name(plan.schedule)},
                                   {"virtual_stages", plan.virtual_stages},
                                   {"recompute", name(plan.recompute)},
                                   {"recompute_layers", plan.recompute_layers},
                                   {"precision", name(plan.precision)},
                                   {"optimizer", name(plan.optimizer)},
                                   {"offload", name(plan.offload)},
                                   {"gradient_compression", name(plan.gradient_compression)},
                                   {"context_method", name(plan.context_method)},
                                   {"collective", name(plan.collective)}};
  add_lists(plan, object);
  return object;
}

std::string to_toml(const Plan& plan) {
  const auto object = to_json(plan);
  std::string text, tables;
  for (const auto& [key, value] : object.items()) {
    if (key != "layers") {
      text += fmt::format("{} = {}\n", key, value.dump());  // JSON scalars and lists are TOML too
      continue;
    }
    for (const auto& layer : value) {
      tables += "\n[[layers]]\n";
      for (const auto& [k, v] : layer.items()) tables += fmt::format("{} = {}\n", k, v.dump());
    }
  }
  return text + tables;
}

Status set_plan_key(Plan& plan, std::string_view key, std::string_view value) {
  json object = json(to_json(plan));
  const json parsed = json::parse(value, nullptr, false);
  const bool is_text = parsed.is_discarded();
  object[std::string(key)] = is_text ? json(std::string(value)) : parsed;
  auto changed = parse_plan(object.dump(), fmt::format("{}={}", key, value));
  if (!changed.ok()) return std::move(changed).error();
  plan = changed->plan;
  return {};
}

}  // namespace tenon::planner
