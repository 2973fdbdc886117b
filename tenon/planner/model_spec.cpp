// Model specs: defaults of each kind, checks, presets.
#include "tenon/planner/model_spec.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tenon/base/closest.h"
#include "tenon/base/file.h"
#include "tenon/base/object_reader.h"
#include "tenon/machine/embedded_file.h"

namespace tenon {
/// data/models/*.toml.
std::span<const EmbeddedFile> model_files();
}  // namespace tenon

namespace tenon::planner {
namespace {

using nlohmann::json;
constexpr std::string_view kKinds[] = {"gpt", "llama",  "bert", "t5",        "moe",
                                       "vit", "resnet", "dlrm", "multimodal"};

std::string_view stem(std::string_view file) { return file.substr(0, file.rfind('.')); }

bool is_transformer(ModelKind kind) {
  return kind != ModelKind::resnet && kind != ModelKind::dlrm && kind != ModelKind::multimodal;
}

/// What a kind implies before the file speaks.
void set_kind_defaults(ModelSpec& spec) {
  const ModelKind kind = spec.kind;
  const bool classic = kind == ModelKind::gpt || kind == ModelKind::bert || kind == ModelKind::vit;
  spec.tied_embeddings = kind == ModelKind::gpt || kind == ModelKind::bert;
  spec.gated = kind == ModelKind::llama || kind == ModelKind::moe;
  spec.biases = classic;
  spec.dropout = kind == ModelKind::gpt || kind == ModelKind::bert || kind == ModelKind::t5;
  spec.learned_positions = classic;
  spec.causal = kind != ModelKind::bert && kind != ModelKind::vit;
}

int vision_tokens(const ModelSpec& spec) {
  const int side = spec.patch > 0 ? spec.image / spec.patch : 0;
  return side * side + 1;  // one class token
}

void fill_transformer(ModelSpec& spec) {
  if (spec.kv_heads == 0) spec.kv_heads = spec.heads;
  if (spec.head_dim == 0 && spec.heads > 0) spec.head_dim = spec.hidden / spec.heads;
  if (spec.ffn == 0) spec.ffn = 4 * spec.hidden;
  if (spec.kind == ModelKind::vit && spec.sequence == 0) spec.sequence = vision_tokens(spec);
  if (spec.experts > 0 && spec.expert_ffn == 0) spec.expert_ffn = spec.ffn;
  if (spec.kv_rank > 0 && spec.value_dim == 0) spec.value_dim = spec.head_dim;
  if (spec.kind == ModelKind::t5) {
    if (spec.decoder_layers == 0) spec.decoder_layers = spec.layers;
    if (spec.decoder_sequence == 0) spec.decoder_sequence = std::max(1, spec.sequence / 4);
  }
}

void need(bool there, const char* key, const ModelSpec& spec, std::vector<Error>& problems) {
  if (there) return;
  problems.push_back(invalid("a model of kind {} needs {}", name(spec.kind), key).at(spec.name));
}

void check_transformer(const ModelSpec& spec, std::vector<Error>& problems) {
  need(spec.layers > 0, "layers", spec, problems);
  need(spec.hidden > 0, "hidden", spec, problems);
  need(spec.heads > 0, "heads", spec, problems);
  need(spec.sequence > 0, "sequence", spec, problems);
  if (spec.kind != ModelKind::vit) need(spec.vocab > 0, "vocab", spec, problems);
  if (spec.kind == ModelKind::vit) {
    need(spec.image > 0 && spec.patch > 0, "image and patch", spec, problems);
  }
  if (spec.kind == ModelKind::moe) {
    need(spec.experts > 1, "experts (at least 2)", spec, problems);
    need(spec.top_k > 0, "top_k", spec, problems);
    if (spec.top_k > spec.experts) {
      problems.push_back(
          invalid("top_k is {} but there are {} experts", spec.top_k, spec.experts).at(spec.name));
    }
  }
  if (spec.heads > 0 && spec.head_dim == spec.hidden / spec.heads &&
      spec.hidden % spec.heads != 0) {
    problems.push_back(
        invalid("hidden is {} and does not divide into {} heads", spec.hidden, spec.heads)
            .at(spec.name)
            .with_help("give head_dim, or heads that divide hidden"));
  }
  if (spec.kv_heads > 0 && spec.heads % std::max(1, spec.kv_heads) != 0) {
    problems.push_back(invalid("{} heads do not divide into {} kv_heads", spec.heads, spec.kv_heads)
                           .at(spec.name));
  }
}

void check_other(const ModelSpec& spec, std::vector<Error>& problems) {
  if (spec.kind == ModelKind::resnet) {
    need(spec.image > 0, "image", spec, problems);
    need(!spec.stages.empty(), "stages", spec, problems);
  }
  if (spec.kind == ModelKind::dlrm) {
    need(spec.tables > 0 && spec.table_rows > 0 && spec.table_dim > 0,
         "tables, table_rows and table_dim", spec, problems);
    need(!spec.bottom_mlp.empty() && !spec.top_mlp.empty(), "bottom_mlp and top_mlp", spec,
         problems);
  }
  if (spec.kind == ModelKind::multimodal) {
    need(spec.towers.size() >= 2, "towers (at least 2)", spec, problems);
  }
}

}  // namespace

std::string_view name(ModelKind kind) { return kKinds[static_cast<int>(kind)]; }

Result<ModelSpec> resolve(ModelSpec spec) {
  std::vector<Error> problems;
  if (is_transformer(spec.kind)) {
    fill_transformer(spec);
    check_transformer(spec, problems);
  } else {
    check_other(spec, problems);
  }
  for (auto& tower : spec.towers) {
    auto resolved = resolve(tower);
    if (resolved.ok()) {
      tower = std::move(resolved).value();
    } else {
      problems.push_back(std::move(resolved).error().at(spec.name));
    }
  }
  if (!problems.empty()) return all_of(std::move(problems));
  return spec;
}

namespace {

void read_sizes(ObjectReader& reader, ModelSpec& spec) {
  struct Field {
    const char* key;
    int* value;
    int low;
  };
  const Field fields[] = {{"layers", &spec.layers, 1},
                          {"hidden", &spec.hidden, 1},
                          {"heads", &spec.heads, 1},
                          {"kv_heads", &spec.kv_heads, 1},
                          {"head_dim", &spec.head_dim, 1},
                          {"ffn", &spec.ffn, 1},
                          {"vocab", &spec.vocab, 1},
                          {"sequence", &spec.sequence, 1},
                          {"experts", &spec.experts, 1},
                          {"top_k", &spec.top_k, 1},
                          {"expert_ffn", &spec.expert_ffn, 1},
                          {"shared_experts", &spec.shared_experts, 0},
                          {"expert_groups", &spec.expert_groups, 0},
                          {"group_limit", &spec.group_limit, 0},
                          {"dense_layers", &spec.dense_layers, 0},
                          {"query_rank", &spec.query_rank, 0},
                          {"kv_rank", &spec.kv_rank, 0},
                          {"rope_dim", &spec.rope_dim, 0},
                          {"value_dim", &spec.value_dim, 0},
                          {"multi_token_layers", &spec.multi_token_layers, 0},
                          {"decoder_layers", &spec.decoder_layers, 0},
                          {"decoder_sequence", &spec.decoder_sequence, 1},
                          {"image", &spec.image, 1},
                          {"patch", &spec.patch, 1},
                          {"channels", &spec.channels, 1},
                          {"classes", &spec.classes, 1},
                          {"tables", &spec.tables, 1},
                          {"table_dim", &spec.table_dim, 1},
                          {"lookups", &spec.lookups, 1},
                          {"dense_features", &spec.dense_features, 1}};
  for (const Field& field : fields) reader.integer(field.key, *field.value, field.low);
  reader.integer("table_rows", spec.table_rows);
  reader.number("capacity", spec.capacity, 1.0, 100.0);
}

void read_choices(ObjectReader& reader, ModelSpec& spec) {
  reader.boolean("tied_embeddings", spec.tied_embeddings);
  reader.boolean("gated", spec.gated);
  reader.boolean("biases", spec.biases);
  reader.boolean("dropout", spec.dropout);
  reader.boolean("learned_positions", spec.learned_positions);
  reader.boolean("causal", spec.causal);
  reader.boolean("towers_trained", spec.towers_trained);
  reader.boolean("contrastive", spec.contrastive);
  reader.integers("stages", spec.stages, 1);
  reader.integers("bottom_mlp", spec.bottom_mlp, 1);
  reader.integers("top_mlp", spec.top_mlp, 1);
}

ModelSpec read_spec(const json& table, const std::string& where, std::vector<Error>& problems) {
  ModelSpec spec;
  ObjectReader reader(table, where, problems);
  spec.name = where;
  reader.text("name", spec.name);
  reader.require("kind");
  int kind = 0;
  reader.choice("kind", {std::begin(kKinds), std::end(kKinds)}, kind);
  spec.kind = static_cast<ModelKind>(kind);
  set_kind_defaults(spec);
  read_sizes(reader, spec);
  read_choices(reader, spec);
  if (const json* towers = reader.child("towers"); towers != nullptr && towers->is_array()) {
    for (std::size_t i = 0; i < towers->size(); ++i) {
      spec.towers.push_back(
          read_spec((*towers)[i], where + ": towers[" + std::to_string(i) + "]", problems));
    }
  }
  reader.finish();
  return spec;
}

bool is_hugging_face(const json& tree) {
  return tree.is_object() && !tree.contains("kind") &&
         (tree.contains("model_type") || tree.contains("architectures"));
}

}  // namespace

Result<ModelSpec> parse_model(std::string_view text, std::string_view where) {
  const json tree = TENON_TRY(parse_config(text, where));
  if (is_hugging_face(tree)) return resolve(TENON_TRY(spec_of_hugging_face(tree, where)));
  std::vector<Error> problems;
  ModelSpec spec = read_spec(tree, std::string(where), problems);
  if (!problems.empty()) return all_of(std::move(problems));
  return resolve(std::move(spec));
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& file : model_files()) names.emplace_back(stem(file.name));
  std::sort(names.begin(), names.end());
  return names;
}

Result<ModelSpec> model_named(std::string_view name) {
  for (const auto& file : model_files()) {
    if (stem(file.name) == name) return parse_model(file.text, name);
  }
  const auto known = model_names();
  std::string list;
  for (const auto& k : known) list += (list.empty() ? "" : ", ") + k;
  std::string hint = did_you_mean(name, known);
  for (auto k = known.rbegin(); k != known.rend(); ++k) {
    if (!name.empty() && k->starts_with(name)) hint = "did you mean '" + *k + "'?";
  }
  return not_found("there is no model '{}'", name)
      .with_help((hint.empty() ? "" : hint + " ") + "presets: " + list +
                 "; or the path of a TOML or a config.json");
}

Result<ModelSpec> load_model(const std::string& path_or_name) {
  if (std::filesystem::is_regular_file(path_or_name) || path_or_name.ends_with(".toml") ||
      path_or_name.ends_with(".json")) {
    return parse_model(TENON_TRY(read_file(path_or_name)), path_or_name);
  }
  return model_named(path_or_name);
}

nlohmann::ordered_json to_json(const ModelSpec& spec) {
  nlohmann::ordered_json object = {{"kind", name(spec.kind)}, {"name", spec.name}};
  const auto put = [&](const char* key, std::int64_t value) {
    if (value != 0) object[key] = value;
  };
  put("layers", spec.layers), put("hidden", spec.hidden), put("heads", spec.heads);
  put("kv_heads", spec.kv_heads), put("head_dim", spec.head_dim), put("ffn", spec.ffn);
  put("vocab", spec.vocab), put("sequence", spec.sequence);
  put("experts", spec.experts), put("top_k", spec.top_k), put("expert_ffn", spec.expert_ffn);
  put("shared_experts", spec.shared_experts), put("dense_layers", spec.dense_layers);
  put("expert_groups", spec.expert_groups), put("group_limit", spec.group_limit);
  put("query_rank", spec.query_rank), put("kv_rank", spec.kv_rank);
  put("rope_dim", spec.rope_dim), put("value_dim", spec.value_dim);
  put("multi_token_layers", spec.multi_token_layers);
  put("decoder_layers", spec.decoder_layers), put("decoder_sequence", spec.decoder_sequence);
  put("image", spec.image), put("patch", spec.patch), put("channels", spec.channels);
  put("classes", spec.classes), put("tables", spec.tables), put("table_rows", spec.table_rows);
  put("table_dim", spec.table_dim), put("lookups", spec.lookups);
  put("dense_features", spec.dense_features);
  if (spec.capacity != 1.0) object["capacity"] = spec.capacity;
  for (const auto& [key, value] : {std::pair{"tied_embeddings", spec.tied_embeddings},
                                   {"gated", spec.gated},
                                   {"biases", spec.biases},
                                   {"dropout", spec.dropout},
                                   {"learned_positions", spec.learned_positions},
                                   {"causal", spec.causal},
                                   {"towers_trained", spec.towers_trained},
                                   {"contrastive", spec.contrastive}}) {
    object[key] = value;
  }
  if (!spec.stages.empty()) object["stages"] = spec.stages;
  if (!spec.bottom_mlp.empty()) object["bottom_mlp"] = spec.bottom_mlp;
  if (!spec.top_mlp.empty()) object["top_mlp"] = spec.top_mlp;
  for (const auto& tower : spec.towers) object["towers"].push_back(to_json(tower));
  return object;
}

}  // namespace tenon::planner
