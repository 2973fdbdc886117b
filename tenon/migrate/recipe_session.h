// Models used through a recipe: pictures, sound or text in, an answer for people out.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tenon/dataset/recipe_run.h"
#include "tenon/migrate/session.h"

namespace tenon::migrate {

/// The recipe that belongs to a model: in its bundle, or recipe.toml beside it; empty when there is
/// none.
std::filesystem::path recipe_of(const std::filesystem::path& model);

/// Runs `files` through the recipe. `model` is a model file, a bundle, or a folder that holds the
/// models which the recipe's stages name (FILE, or the bundle FILE with the ending .tenon). Models
/// open at their first use.
Result<dataset::Answer> run_by_recipe(const std::filesystem::path& model,
                                      const std::filesystem::path& recipe,
                                      const std::map<std::string, std::filesystem::path>& files,
                                      const SessionOptions& options, ThreadPool& pool);

}  // namespace tenon::migrate
