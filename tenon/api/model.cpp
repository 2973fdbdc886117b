#include "tenon/api/model.h"

#include <fmt/ranges.h>

#include "tenon/base/closest.h"
#include "tenon/base/thread_pool.h"
#include "tenon/engine/engine.h"
#include "tenon/migrate/model_file.h"

namespace tenon::api {
namespace {

/// The door between Results and exceptions.
template <class T>
T value_or_throw(Result<T> result) {
  if (!result.ok()) throw Exception(std::move(result).error());
  return std::move(result).value();
}

std::vector<Port> ports(const Values& values, const std::vector<std::string>& names) {
  std::vector<Port> list;
  for (std::size_t i = 0; i < values.size(); ++i)
    list.push_back({names[i], values[i]->type().text()});
  return list;
}

std::vector<std::string> names_of(const Values& values) {
  std::vector<std::string> names;
  for (const Value* value : values) names.push_back(value->name());
  return names;
}

}  // namespace

struct Model::State {
  std::unique_ptr<Executable> executable;
  std::unique_ptr<ThreadPool> pool;
  std::vector<Port> inputs, outputs;

  /// The inputs in the graph's order.
  Result<Datums> arrange(const Tensors& given) const {
    std::vector<std::string> known;
    for (const Port& port : inputs) known.push_back(port.name);
    for (const auto& [name, tensor] : given) {
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        const std::string guess = did_you_mean(name, known);
        return invalid("the model has no input '{}'", name)
            .with_help(fmt::format("{}inputs: {}", guess.empty() ? guess : guess + " ",
                                   fmt::join(known, ", ")));
      }
    }
    Datums datums;
    for (const std::string& name : known) {
      const auto found = given.find(name);
      if (found == given.end()) return invalid("input '{}' is missing", name);
      datums.emplace_back(found->second);
    }
    return datums;
  }

  Result<Tensors> run(const Tensors& given) const {
    const Datums results = TENON_TRY(executable->run(TENON_TRY(arrange(given)), *pool));
    Tensors named;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i].is_tensor()) {
        return unsupported("output '{}' is a {}, which this interface does not return",
                           outputs[i].name, outputs[i].type)
            .with_help("use the program: tenon run");
      }
      named.emplace(outputs[i].name, results[i].tensor());
    }
    return named;
  }
};

Model Model::load(const std::filesystem::path& path, const Options& options) {
  const auto state = std::make_shared<State>();
  const Backend* backend = value_or_throw(engine::backend_named(options.backend));
  auto file = value_or_throw(migrate::open_model(path));
  state->executable = value_or_throw(engine::compile(std::move(file.graph), *backend, {}));
  const Graph& graph = state->executable->graph();
  state->inputs = ports(graph.inputs(), names_of(graph.inputs()));
  state->outputs = ports(graph.outputs(), graph.output_names());
  state->pool = std::make_unique<ThreadPool>(options.num_threads > 0 ? options.num_threads
                                                                     : usable_processors());
  return Model(state);
}

const std::vector<Port>& Model::inputs() const { return state_->inputs; }
const std::vector<Port>& Model::outputs() const { return state_->outputs; }
Tensors Model::run(const Tensors& inputs) const { return value_or_throw(state_->run(inputs)); }

}  // namespace tenon::api
