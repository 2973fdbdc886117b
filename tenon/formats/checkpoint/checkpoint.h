// Checkpoints of training: the model, everything that training adds to it, and a manifest.
//
// A checkpoint is a folder: graph.txt (the model without its weights), model.safetensors (weights
// by name), state.safetensors (what only training needs), state.json (where the run stands) and
// checkpoint.json (sizes and checksums of the others). It appears whole or not at all.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/base/npy.h"
#include "tenon/ir/graph.h"

namespace tenon::checkpoint {

struct Checkpoint {
  std::unique_ptr<Graph> model;  // with its weights, which borrow the files
  NamedTensors state;
  Json run;
};

/// Writes under a temporary name in the same folder, syncs and renames; an error leaves what was
/// there. Weights of the model need names of their own.
Status write(const std::filesystem::path& folder, const Graph& model, const NamedTensors& state,
             const Json& run);

/// Whether the folder has a checkpoint's manifest.
bool is_checkpoint(const std::filesystem::path& folder);

/// Sizes and checksums against the manifest; `invalid` names the file that differs.
Status verify(const std::filesystem::path& folder);

/// Reads after verifying. `with_state` false leaves what only training needs.
Result<Checkpoint> read(const std::filesystem::path& folder, bool with_state = true);

/// Checkpoints below a folder, named by their steps, the newest first.
std::vector<std::filesystem::path> newest_first(const std::filesystem::path& folder);
/// The newest of them that verifies; nothing when there is none.
std::optional<std::filesystem::path> newest_whole(const std::filesystem::path& folder);

}  // namespace tenon::checkpoint
