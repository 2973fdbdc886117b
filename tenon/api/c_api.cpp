#include "tenon/api/c_api.h"

#include <cstring>
#include <new>

#include "tenon/api/model.h"

struct tenon_model {
  tenon::api::Model model;
};

struct tenon_outputs {
  tenon::api::Tensors tensors;  // owns what the views show
  std::vector<std::string> dtypes;
  std::vector<tenon_tensor> views;
};

namespace {

using tenon::api::Exception;

thread_local std::string last_error, last_help;  // NOLINT: the C form of an error, one a thread

int fail(const tenon::Error& error) {
  last_error = error.text();
  last_help = error.help;
  return static_cast<int>(error.code) + 1;
}

/// Runs `body`, turning what it throws into a code: nothing may unwind into C.
template <class Body>
int guarded(Body body) {
  try {
    body();
    return TENON_OK;
  } catch (const Exception& problem) {
    return fail(problem.error());
  } catch (const std::bad_alloc&) {
    return fail(tenon::error(tenon::Code::out_of_memory, "out of memory"));
  } catch (const std::exception& problem) {
    return fail(tenon::invalid("{}", problem.what()));
  }
}

tenon::Tensor copied(const tenon_tensor& view) {
  const auto dtype = tenon::dtype_named(view.dtype ? view.dtype : "");
  if (!dtype || *dtype == tenon::DType::string) {
    throw Exception(tenon::invalid("input '{}' has element type '{}', which cannot be passed",
                                   view.name, view.dtype ? view.dtype : ""));
  }
  const tenon::Dims dims(view.dims, view.dims + view.ndim);
  if (const auto count = tenon::checked_num_elements(dims); !count.ok())
    throw Exception(count.error());
  tenon::Tensor tensor(*dtype, dims);
  if (tensor.bytes() != view.bytes) {
    throw Exception(tenon::invalid("input '{}' has {} bytes but its dims need {}", view.name,
                                   view.bytes, tensor.bytes()));
  }
  if (view.bytes > 0) std::memcpy(tensor.raw(), view.data, view.bytes);
  return tensor;
}

void show(tenon_outputs& outputs) {
  outputs.dtypes.reserve(outputs.tensors.size());  // views point into it
  for (const auto& [name, tensor] : outputs.tensors) {
    outputs.dtypes.emplace_back(tenon::name(tensor.dtype()));
    outputs.views.push_back({name.c_str(), outputs.dtypes.back().c_str(), tensor.ndim(),
                             tensor.dims().data(), tensor.raw(), tensor.bytes()});
  }
}

const char* name_at(const std::vector<tenon::api::Port>& ports, int index) {
  return index < 0 || index >= static_cast<int>(ports.size())
             ? nullptr
             : ports[static_cast<std::size_t>(index)].name.c_str();
}

}  // namespace

int tenon_model_load(const char* path, const char* backend, int num_threads, tenon_model** model) {
  return guarded([&] {
    *model = nullptr;
    *model =
        new tenon_model{tenon::api::Model::load(path, {backend ? backend : "cpu", num_threads})};
  });
}

void tenon_model_free(tenon_model* model) { delete model; }

int tenon_model_num_inputs(const tenon_model* model) {
  return static_cast<int>(model->model.inputs().size());
}
int tenon_model_num_outputs(const tenon_model* model) {
  return static_cast<int>(model->model.outputs().size());
}
const char* tenon_model_input_name(const tenon_model* model, int index) {
  return name_at(model->model.inputs(), index);
}
const char* tenon_model_output_name(const tenon_model* model, int index) {
  return name_at(model->model.outputs(), index);
}

int tenon_model_run(const tenon_model* model, const tenon_tensor* inputs, int num_inputs,
                    tenon_outputs** outputs) {
  return guarded([&] {
    *outputs = nullptr;
    tenon::api::Tensors given;
    for (int i = 0; i < num_inputs; ++i) given.insert_or_assign(inputs[i].name, copied(inputs[i]));
    auto results = std::make_unique<tenon_outputs>();
    results->tensors = model->model.run(given);
    show(*results);
    *outputs = results.release();
  });
}

int tenon_outputs_count(const tenon_outputs* outputs) {
  return static_cast<int>(outputs->views.size());
}

const tenon_tensor* tenon_outputs_at(const tenon_outputs* outputs, int index) {
  return index < 0 || index >= tenon_outputs_count(outputs)
             ? nullptr
             : &outputs->views[static_cast<std::size_t>(index)];
}

void tenon_outputs_free(tenon_outputs* outputs) { delete outputs; }

const char* tenon_last_error(void) { return last_error.c_str(); }
const char* tenon_last_help(void) { return last_help.c_str(); }
