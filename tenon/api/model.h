// The C++ facade: load a model, see its inputs and outputs, run it.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/tensor.h"

namespace tenon::api {

/// What every function here throws when the world or the caller is at fault. `what()` is the
/// message with its place; `error()` has the code, the remedy and further problems.
class Exception : public std::runtime_error {
 public:
  explicit Exception(Error error) : std::runtime_error(error.text()), error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

struct Options {
  std::string backend = "cpu";  ///< "cpu", "reference" or "null"
  int num_threads = 0;          ///< 0: as many as the process may use
};

/// An input or output: its name and its type as text, such as "f32[batch, 3, 224, 224]".
struct Port {
  std::string name;
  std::string type;
};

/// Values by name.
using Tensors = std::map<std::string, Tensor>;

/// A model, compiled for a backend. Copies share it; runs from several threads at once are fine.
class Model {
 public:
  /// Reads a model file and compiles it. Throws Exception, with all problems of the file.
  static Model load(const std::filesystem::path& path, const Options& options = {});

  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;

  /// Runs once. Every input must be there, with the element type and dims that it declares; throws
  /// Exception otherwise, and `unsupported` for an output that is a sequence or an optional.
  Tensors run(const Tensors& inputs) const;

 private:
  struct State;
  explicit Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace tenon::api
