// Opens the models of a recipe's stages and hands them to it.
#include "tenon/migrate/recipe_session.h"

#include <algorithm>

namespace tenon::migrate {
namespace {

namespace fs = std::filesystem;

// Sessions by the name that the recipe gives them.
class Models {
 public:
  Models(fs::path root, const SessionOptions& options, ThreadPool& pool)
      : root_(std::move(root)), options_(options), pool_(pool) {}

  Result<NamedTensors> run(const std::string& name, const NamedTensors& inputs) {
    auto it = open_.find(name);
    if (it == open_.end())
      it = open_.emplace(name, TENON_TRY(open_session(TENON_TRY(find(name)), options_))).first;
    const Session& s = it->second;
    Datums values;
    for (const std::string& wanted : s.input_names) {
      const auto given = std::find_if(inputs.begin(), inputs.end(),
                                      [&](const auto& i) { return i.first == wanted; });
      if (given == inputs.end())
        return not_found("the recipe gives no value for input {} of the model", wanted);
      values.emplace_back(given->second);
    }
    for (const auto& [key, tensor] : inputs)
      if (std::find(s.input_names.begin(), s.input_names.end(), key) == s.input_names.end())
        return invalid("the recipe names input {}, which the model does not have", key);
    const Datums outputs = TENON_TRY(s.executable->run(values, pool_));
    NamedTensors named;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].is_tensor()) named.emplace_back(s.output_names[i], outputs[i].tensor());
    return named;
  }

 private:
  Result<fs::path> find(const std::string& name) const {
    std::error_code e;
    if (name.empty() || is_bundle(root_) || !fs::is_directory(root_, e)) return root_;
    const fs::path bundle = (root_ / name).replace_extension(".tenon");
    if (is_bundle(bundle)) return bundle;
    if (fs::exists(root_ / name, e)) return root_ / name;
    return not_found("the folder has neither {} nor the bundle {}", name,
                     bundle.filename().string())
        .at(root_.string());
  }
  fs::path root_;
  const SessionOptions& options_;
  ThreadPool& pool_;
  std::map<std::string, Session> open_;
};

}  // namespace

fs::path recipe_of(const fs::path& model) {
  std::error_code e;
  const fs::path place =
      fs::is_directory(model, e) ? model / "recipe.toml" : model.parent_path() / "recipe.toml";
  return fs::exists(place, e) ? place : fs::path();
}

Result<dataset::Answer> run_by_recipe(const fs::path& model, const fs::path& recipe,
                                      const std::map<std::string, fs::path>& files,
                                      const SessionOptions& options, ThreadPool& pool) {
  std::error_code e;
  const fs::path beside = fs::is_directory(model, e) ? model : model.parent_path();
  const dataset::Recipe r = TENON_TRY(dataset::read_recipe(recipe, {beside}));
  Models models(model, options, pool);
  return dataset::run_recipe(r, files, [&](const std::string& name, const NamedTensors& inputs) {
    return models.run(name, inputs);
  });
}

}  // namespace tenon::migrate
