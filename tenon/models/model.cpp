// The table of kinds, and what all makers share.
#include "tenon/models/model.h"

#include <algorithm>
#include <array>

#include "tenon/models/kinds_internal.h"

namespace tenon::models {
namespace {

struct Kind {
  const char* name;
  void (*make)(Making&);
};

constexpr std::array<Kind, 10> kKinds = {{{"mlp", make_mlp},
                                          {"lenet", make_lenet},
                                          {"cnn", make_cnn},
                                          {"resnet", make_resnet},
                                          {"vit", make_vit},
                                          {"detector", make_detector},
                                          {"bert", make_bert},
                                          {"gpt", make_gpt},
                                          {"lstm_tagger", make_lstm_tagger},
                                          {"wide_and_deep", make_wide_and_deep}}};

}  // namespace

Value* Making::field(const std::vector<std::string>& names, int ndim, bool is_integer) {
  for (const InputField& f : request.fields) {
    if (std::find(names.begin(), names.end(), f.name) == names.end()) continue;
    const bool fits = (ndim < 0 || static_cast<int>(f.dims.size()) == ndim) &&
                      (is_integer ? tenon::is_integer(f.dtype) : is_floating(f.dtype));
    if (fits) return net.input(f.name, f.dtype, f.dims);
    net.fail(invalid("field {} is {}{} but the model reads {} with {} axes", f.name,
                     tenon::name(f.dtype), to_text(f.dims), is_integer ? "integers" : "f32", ndim));
    return net.input(f.name, is_integer ? DType::i64 : DType::f32,
                     Dims(static_cast<std::size_t>(std::max(1, ndim)), 1));
  }
  std::string have;
  for (const InputField& f : request.fields) have += (have.empty() ? "" : ", ") + f.name;
  net.fail(invalid("the samples have no field {} (they have {})", names.front(), have));
  return net.input(names.front(), is_integer ? DType::i64 : DType::f32,
                   Dims(static_cast<std::size_t>(std::max(1, ndim)), 1));
}

Value* Making::field_if_there(const std::string& name) {
  for (const InputField& f : request.fields)
    if (f.name == name) return net.input(f.name, f.dtype, f.dims);
  return nullptr;
}

std::int64_t Making::classes() {
  std::int64_t n = request.classes;
  keys.integer("classes", n);
  if (n <= 0) {
    keys.problem(invalid("'classes' is missing, and the data does not tell").at(keys.where()));
    n = 1;
  }
  return n;
}

std::int64_t Making::integer(const char* key, std::int64_t value, std::int64_t low) {
  keys.integer(key, value, low);
  return value;
}
double Making::share(const char* key, double value) {
  keys.number(key, value, 0, 0.999);
  return value;
}
std::vector<int> Making::integers(const char* key, std::vector<int> value) {
  keys.integers(key, value, 1);
  return value;
}

std::vector<std::string> model_kinds() {
  std::vector<std::string> names;
  for (const Kind& k : kKinds) names.emplace_back(k.name);
  return names;
}

Result<std::unique_ptr<Graph>> build_model(const Json& section, const ModelRequest& request) {
  std::vector<Error> problems;
  ObjectReader keys(section, request.where, problems);
  keys.require("kind");
  int index = 0;
  keys.choice("kind", model_kinds(), index);
  if (!problems.empty()) return all_of(std::move(problems));
  const Kind& kind = kKinds[static_cast<std::size_t>(index)];
  Net net(kind.name, request.seed);
  Making making(keys, request, net);
  kind.make(making);
  keys.finish();
  if (!problems.empty()) return all_of(std::move(problems));
  return TENON_TRY_AT(request.where, net.finish());
}

}  // namespace tenon::models
