// Plans as other engines' configuration files, and their files as plans.
//
// Each engine is one file with a table (plan key <-> argument) that serves both directions, after a
// step that says what the engine cannot do: the nearest plan that it can, and why.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/planner/model_spec.h"
#include "tenon/planner/plan.h"
#include "tenon/planner/pricer.h"

namespace tenon::planner {

enum class Engine { megatron, deepspeed, torchtitan };
std::string_view name(Engine engine);
const std::vector<std::string>& engine_names();

/// A plan key (or "model", "cluster") and what is to be said about it.
struct Remark {
  std::string key, reason;
};

struct EngineFile {
  std::string name, text;
};

struct Exported {
  std::vector<EngineFile> files;
  std::vector<Remark> lost;  ///< choices that the files do not hold; the reason says what they hold
  std::vector<Remark> notes;  ///< held by the files, but with another meaning in the engine
  Plan written;               ///< what `import_plan` reads back from the first file
};

/// The files of one engine. `model` may be absent (a model that came as a graph): it is then named
/// in `lost`. Errors: `invalid` for a plan that does not fit its cluster or model (all reasons but
/// memory), `unsupported` where the engine has nothing near the plan.
Result<Exported> export_plan(Engine engine, const Plan& plan, Pricer& pricer,
                             const std::optional<ModelSpec>& model);

struct ImportRequest {
  std::int64_t devices = 0;  ///< 0: as the file says
  std::vector<std::pair<std::string, std::string>>
      set;  ///< plan keys that code, not the file, sets
  bool ignore_unknown = false;
  /// Reads a file that the given one names, relative to its folder.
  std::function<Result<std::string>(const std::string& path)> read;
};

struct Imported {
  Plan plan;
  std::optional<ModelSpec> model;    ///< where the file describes it
  std::vector<Remark> lost;          ///< settings that matter and that a plan cannot hold
  std::vector<Remark> notes;         ///< what was assumed
  std::vector<std::string> ignored;  ///< settings the engine knows and that are no plan choice
};

/// The plan that a configuration file describes: a Megatron-LM or torchtitan launch script or list
/// of arguments, a torchtitan TOML, a ds_config.json or the script that starts it. The plan is in
/// canonical form. Errors: unknown arguments with the nearest known one, values that contradict
/// each other, all of them.
Result<Imported> import_plan(Engine engine, std::string_view text, std::string_view where,
                             const ImportRequest& request);

/// The same plan written in the shortest way: choices that change nothing are left out (one stage
/// has no schedule, counts that equal the usual spread are not listed, and so on). `blocks`: of the
/// model's chain, 0 where it is not known.
Plan canonical(Plan plan, int blocks);

}  // namespace tenon::planner
