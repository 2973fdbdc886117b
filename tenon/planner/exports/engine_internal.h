// What the engines' files share.
#pragma once

#include <nlohmann/json.hpp>

#include "tenon/planner/exports/engine.h"
#include "tenon/planner/exports/settings.h"
#include "tenon/planner/exports/shell_words.h"

namespace tenon::planner {

/// A plan on its way out.
struct Export {
  Plan plan;  // canonical, moved to the nearest plan that the engine has
  Pricer& pricer;
  const std::optional<ModelSpec>& model;
  int blocks = 0;
  Exported& out;

  /// The first reason for a key stays.
  void lose(std::string key, std::string reason) {
    for (const Remark& remark : out.lost) {
      if (remark.key == key) return;
    }
    out.lost.push_back({std::move(key), std::move(reason)});
  }
  void note(std::string key, std::string reason) {
    out.notes.push_back({std::move(key), std::move(reason)});
  }
};

/// A plan on its way in.
struct Import {
  const ImportRequest& request;
  std::string where;
  Settings settings;
  nlohmann::json plan;  // keys found so far
  Imported out;
  std::vector<Error> problems;
  std::int64_t devices = 0;

  void lose(std::string key, std::string reason) {
    out.lost.push_back({std::move(key), std::move(reason)});
  }
  void note(std::string key, std::string reason) {
    out.notes.push_back({std::move(key), std::move(reason)});
  }
  int count(const char* key, int fallback) const {
    return plan.contains(key) && plan[key].is_number_integer() ? plan[key].get<int>() : fallback;
  }
};

Status write_megatron(Export& e);
Status write_deepspeed(Export& e);
Status write_torchtitan(Export& e);
Status read_megatron(std::string_view text, Import& i);
Status read_deepspeed(std::string_view text, Import& i);
Status read_torchtitan(std::string_view text, Import& i);

/// The model's arguments for Megatron-LM's GPT script; false where the model is of another kind.
bool write_megatron_model(Export& e, Settings& settings);
void read_megatron_model(Import& i);

/// Choices that no engine has: overrides of single layers, unequal recomputation and the like.
/// `keeps_stages`: whether the engine takes the layers of each stage; `keeps_expert_tensor`:
/// whether experts may have a tensor degree of their own.
void lose_what_no_engine_has(Export& e, bool keeps_stages, bool keeps_expert_tensor = false);
/// Whether the only override is the tensor degree of the experts.
bool splits_only_experts(const Plan& plan);
/// Where the plan places another axis fastest than the engine does.
void lose_placement(Export& e, std::string_view engine);

/// Nodes and devices a node, of the first group; other sizes are named in `notes`.
struct Nodes {
  std::int64_t nodes = 1;
  int devices = 8;
};
Nodes nodes_of(Export& e);
/// "export NCCL_ALGO=Ring\n", or nothing.
std::string collective_line(const Plan& plan);

/// "--name value \\" lines, four spaces in front.
std::string argument_lines(const Settings& settings, std::string_view dashes);
/// Reads --name value ... of a launch command into settings by the names an engine knows; the
/// launcher's own options give the number of devices. `normal`: how a name is spelled in the list.
void read_arguments(const LaunchCommand& launch, const KnownNames& known, Import& i,
                    std::string (*normal)(std::string name));
/// data_parallel from the devices and the other degrees.
void set_data_parallel(Import& i);

}  // namespace tenon::planner
