// Bundles: a folder `model.tenon/` that holds a compiled model, whole and checked.
//
//   manifest.json        schema, versions, backend, instruction set, size and checksum of each file
//   graph.txt            the graph after the passes, constants by key
//   weights.safetensors  mapped, never loaded whole
//   kernels/*.o          native objects, by content; used where the instruction set fits
//   recipe.toml          how pictures, sound or text become inputs (where the model has one)
//   report.json, report.html
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/engine/engine.h"

namespace tenon::migrate {

/// What goes into a bundle.
struct BundleContent {
  const Executable* executable = nullptr;
  std::string backend;
  std::string precision = "fp32";
  std::map<std::string, std::string> files;  // further ones by relative path: recipe, report
  Json source;                               // where the model came from
};

/// Writes a bundle in the place of `folder`, which appears whole or not at all.
Status write_bundle(const std::filesystem::path& folder, const BundleContent& content);

/// An opened bundle, ready to run.
struct Bundle {
  std::unique_ptr<Executable> executable;
  std::string backend, precision;
  std::vector<std::string> notes;  // what had to be compiled again, and why
  Json manifest;
  std::filesystem::path folder;
};

struct BundleOptions {
  std::string backend;  // empty: the bundle's own
  /// Ignore the native code inside, for bundles from people one does not trust.
  bool recompile = false;
};

bool is_bundle(const std::filesystem::path& folder);
/// Opens a bundle: checks versions, sizes and checksums, maps the weights, loads kernels. invalid
/// names the file that is damaged, missing or foreign.
Result<Bundle> open_bundle(const std::filesystem::path& folder, const BundleOptions& options = {});

}  // namespace tenon::migrate
