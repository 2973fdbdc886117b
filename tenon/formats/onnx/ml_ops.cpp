// ai.onnx.ml: what tests and tabular models hold.
#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
namespace {

constexpr std::string_view kDomain = "ai.onnx.ml";

Values binarizer(Context& c) {
  return {c.op("binarizer", {c.in(0)}, {{"threshold", c.real("threshold", 0)}})};
}

// Keys and values stand in one of several attributes by type; version 4 also takes tensors.
Tensor list_of(Context& c, const std::string& stem) {
  if (c.has_attr(stem + "_tensor")) return c.tensor(stem + "_tensor");
  if (c.has_attr(stem + "_strings")) return Tensor::vector(c.texts(stem + "_strings"));
  if (c.has_attr(stem + "_int64s")) return Tensor::vector(c.integers(stem + "_int64s"));
  const auto reals = c.reals(stem + "_floats");
  return from_doubles(reals, DType::f32, {static_cast<std::int64_t>(reals.size())});
}

Tensor default_of(Context& c, DType dtype) {
  if (c.has_attr("default_tensor")) return c.tensor("default_tensor");
  c.ignore({"default_string", "default_int64", "default_float"});
  if (dtype == DType::string)
    return Tensor::scalar<std::string>(c.text("default_string", "_Unused"));
  if (is_integer(dtype))
    return Tensor::full(dtype, {}, static_cast<double>(c.integer("default_int64", -1)));
  return Tensor::full(dtype, {}, c.real("default_float", -0.0));
}

// Version 1 numbers the strings of one list, both ways.
Values label_encoder_1(Context& c) {
  const Tensor words = Tensor::vector(c.texts("classes_strings"));
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < words.count(); ++i) numbers.push_back(i);
  const bool from_words = c.dtype(0) == DType::string;
  const Tensor fallback = from_words
                              ? Tensor::scalar<std::int64_t>(c.integer("default_int64", -1))
                              : Tensor::scalar<std::string>(c.text("default_string", "_Unused"));
  c.ignore({"default_int64", "default_string"});
  return {c.op("label_encoder", {c.in(0)},
               {{"keys", from_words ? words : Tensor::vector(numbers)},
                {"values", from_words ? Tensor::vector(numbers) : words},
                {"default", fallback}})};
}

Values label_encoder(Context& c) {
  if (c.version() < 2) return label_encoder_1(c);
  Tensor keys = list_of(c, "keys"), values = list_of(c, "values");
  Tensor fallback = default_of(c, values.dtype());
  return {c.op("label_encoder", {c.in(0)},
               {{"keys", std::move(keys)},
                {"values", std::move(values)},
                {"default", std::move(fallback)}})};
}

Values tree_ensemble(Context& c) {
  Attrs attrs{{"aggregate_function", c.integer("aggregate_function", 1)},
              {"post_transform", c.integer("post_transform", 0)},
              {"n_targets", c.integer("n_targets", 1)}};
  for (const char* list :
       {"tree_roots", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids",
        "nodes_trueleafs", "nodes_falseleafs", "leaf_targetids"})
    attrs.set(list, c.integers(list));
  if (c.has_attr("nodes_missing_value_tracks_true"))
    attrs.set("nodes_missing_value_tracks_true", c.integers("nodes_missing_value_tracks_true"));
  for (const char* tensor : {"nodes_modes", "nodes_splits", "leaf_weights"})
    attrs.set(tensor, c.tensor(tensor));
  if (c.has_attr("membership_values"))
    attrs.set("membership_values", c.tensor("membership_values"));
  c.ignore({"nodes_hitrates"});
  return {c.op("tree_ensemble", {c.in(0)}, std::move(attrs))};
}

// Scaler: y = (x - offset) * scale; lists of one count for every feature.
Values scaler(Context& c) {
  const auto offset = c.reals("offset"), scale = c.reals("scale");
  Value* x = c.cast(c.in(0), DType::f32);
  const auto row = [&](const std::vector<double>& v) {
    return c.constant(from_doubles(v, DType::f32, {static_cast<std::int64_t>(v.size())}));
  };
  if (!offset.empty()) x = c.op("sub", {x, row(offset)});
  return {scale.empty() ? x : c.op("mul", {x, row(scale)})};
}

// Normalizer: rows over their largest, summed absolute or Euclidean size.
Values normalizer(Context& c) {
  const std::string norm = c.text("norm", "MAX");
  Value* x = c.cast(c.in(0), DType::f32);
  const char* page = norm == "MAX"  ? "reduce_max"
                     : norm == "L1" ? "reduce_l1"
                     : norm == "L2" ? "reduce_l2"
                                    : "";
  if (!*page) return c.fail(invalid("attribute norm is '{}'", norm));
  return {c.op("div", {x, c.op(page, {norm == "MAX" ? c.op("abs", {x}) : x, c.ints({-1})})})};
}

Values post_transform(Context& c, Value* y) {
  const std::string transform = c.text("post_transform", "NONE");
  if (transform == "NONE") return {y};
  if (transform == "LOGISTIC") return {c.op("sigmoid", {y})};
  if (transform == "SOFTMAX") return {c.op("softmax", {y}, {{"axis", -1}})};
  return c.fail(unsupported("attribute post_transform is '{}'", transform));
}

// LinearRegressor: y = x * coefficients' + intercepts.
Values linear_regressor(Context& c) {
  const auto coefficients = c.reals("coefficients"), intercepts = c.reals("intercepts");
  const std::int64_t targets = c.integer("targets", 1),
                     total = static_cast<std::int64_t>(coefficients.size());
  if (targets < 1 || total % targets)
    return c.fail(invalid("{} coefficients for {} targets", total, targets));
  Value* w = c.transpose(
      c.constant(from_doubles(coefficients, DType::f32, {targets, total / targets})), {1, 0});
  Value* y = c.op("matmul", {c.cast(c.in(0), DType::f32), w});
  if (!intercepts.empty())
    y = c.op("add", {y, c.constant(from_doubles(intercepts, DType::f32,
                                                {static_cast<std::int64_t>(intercepts.size())}))});
  return post_transform(c, y);
}

// Imputer: elements equal to the replaced value take the imputed one, by feature.
Values imputer(Context& c) {
  const bool whole = is_integer(c.dtype(0));
  const double old = whole ? static_cast<double>(c.integer("replaced_value_int64", 0))
                           : c.real("replaced_value_float", 0);
  const auto integers = c.integers("imputed_value_int64s");
  const auto reals = c.reals("imputed_value_floats");
  c.ignore({"replaced_value_int64", "replaced_value_float"});
  const std::int64_t n = static_cast<std::int64_t>(whole ? integers.size() : reals.size());
  Value* fresh = c.constant(whole ? from_int64s(integers, c.dtype(0), {n})
                                  : from_doubles(reals, c.dtype(0), {n}));
  Value* is_old =
      old != old ? c.op("is_nan", {c.in(0)}) : c.op("equal", {c.in(0), c.number(old, c.in(0))});
  return {c.op("where", {is_old, fresh, c.in(0)})};
}

Values feature_vectorizer(Context& c) {
  c.ignore({"inputdimensions"});
  Values parts;
  for (Value* v : c.inputs()) parts.push_back(c.cast(v, DType::f32));
  return {c.concat(std::move(parts), -1)};
}

}  // namespace

void add_ml_rows(Rows& rows) {
  const auto add = [&](std::string_view op, Values (*convert)(Context&), std::string_view page = {},
                       int first = 1) { rows.push_back({kDomain, op, convert, page, {}, first}); };
  add("ArrayFeatureExtractor", renamed, "array_feature_extractor");
  add("Binarizer", binarizer);
  add("LabelEncoder", label_encoder);
  add("TreeEnsemble", tree_ensemble, {}, 5);
  add("Scaler", scaler);
  add("Normalizer", normalizer);
  add("LinearRegressor", linear_regressor);
  add("Imputer", imputer);
  add("FeatureVectorizer", feature_vectorizer);
}

}  // namespace tenon::onnx
