// Which ONNX operator each page becomes.
#include <map>

#include "tenon/formats/onnx/proto.h"
#include "tenon/formats/onnx/writer_internal.h"

namespace tenon::onnx {
namespace {

bool is_float8(DType d) {
  return d == DType::f8e4m3fn || d == DType::f8e4m3fnuz || d == DType::f8e5m2 ||
         d == DType::f8e5m2fnuz;
}

Status write_cast(NodeWriter& w) {
  const DType to = *w.attr("to")->get<DType>();
  std::vector<WireWriter> attributes = {w.attribute("to", Attr(to))};
  if (is_float8(to)) attributes.push_back(w.attribute("saturate", *w.attr("saturate")));
  if (to == DType::f8e8m0) {
    attributes.push_back(w.attribute("round_mode", *w.attr("round_mode")));
    w.model().need("", 24);
  }
  w.emit("Cast", w.inputs(), w.outputs(), attributes);
  return {};
}

// y = x * sigmoid(alpha * x); the operator Swish is newer than most readers.
Status write_silu(NodeWriter& w) {
  const double alpha = *w.attr("alpha")->get<double>();
  std::string x = w.input(0), gate = w.temporary("silu_gate");
  if (alpha != 1) {
    const std::string scaled = w.temporary("silu_scaled");
    w.emit("Mul", {x, w.constant(Tensor::full(w.in_type(0).dtype(), {}, alpha), "silu_alpha")},
           {scaled});
    w.emit("Sigmoid", {scaled}, {gate});
  } else {
    w.emit("Sigmoid", {x}, {gate});
  }
  w.emit("Mul", {x, gate}, w.outputs());
  return {};
}

// Sizes or num_outputs, never both.
Status write_split(NodeWriter& w) {
  std::vector<WireWriter> attributes = {w.attribute("axis", *w.attr("axis"))};
  if (!w.node().input(1))
    attributes.push_back(
        w.attribute("num_outputs", Attr(static_cast<std::int64_t>(w.node().outputs().size()))));
  std::vector<std::string> outputs;
  for (int i = 0; i < static_cast<int>(w.node().outputs().size()); ++i)
    outputs.push_back(w.output(i));
  w.emit("Split", w.inputs(), outputs, attributes);
  return {};
}

// Half floats came late to Range.
Status write_range(NodeWriter& w) {
  const DType d = w.in_type(0).dtype();
  w.model().need("", d == DType::f16 || d == DType::bf16 ? 27 : 11);
  std::vector<std::string> inputs = w.inputs();
  for (int i = 0; i < 3; ++i)  // ONNX wants scalars where the page also takes one element in a row
    if (w.in_type(i).ranked() && w.in_type(i).ndim() > 0) {
      const std::string scalar = w.temporary("range_scalar");
      w.emit("Squeeze", {inputs[static_cast<std::size_t>(i)]}, {scalar});
      inputs[static_cast<std::size_t>(i)] = scalar;
    }
  w.emit("Range", inputs, w.outputs());
  return {};
}

Status write_label_encoder(NodeWriter& w) {
  const Tensor& fallback = *w.attr("default")->get<Tensor>();
  w.emit(
      "LabelEncoder", w.inputs(), w.outputs(),
      {w.attribute("keys_tensor", *w.attr("keys")), w.attribute("values_tensor", *w.attr("values")),
       w.attribute("default_tensor", Attr(fallback.reshaped({1})))},
      "ai.onnx.ml");
  return {};
}

Status write_space_to_depth(NodeWriter& w) {
  const Attr* mode = w.attr("mode");
  if (mode && *mode->get<std::string>() != "DCR")
    return unsupported("space_to_depth with the order {} has no counterpart in ONNX",
                       *mode->get<std::string>());
  w.emit("SpaceToDepth", w.inputs(), w.outputs(), {w.attribute("blocksize", *w.attr("blocksize"))});
  return {};
}

Status write_bit_shift(NodeWriter& w) {
  const bool left = *w.attr("direction")->get<std::string>() == "left";
  w.emit("BitShift", w.inputs(), w.outputs(),
         {w.attribute("direction", Attr(left ? "LEFT" : "RIGHT"))});
  return {};
}

Status write_average_pool(NodeWriter& w) {
  const Attr* divisor = w.attr("divisor");
  if (divisor && *divisor->get<std::int64_t>() != 0)
    return unsupported("average_pool with a divisor of its own has no counterpart in ONNX");
  w.translate({"average_pool", "AveragePool", 19, {{"kernel", "kernel_shape"}, {"divisor", ""}}});
  return {};
}

Status write_quantize(NodeWriter& w) {
  std::vector<WireWriter> attributes = {w.attribute("axis", *w.attr("axis"))};
  if (const Attr* b = w.attr("block_size"); b && *b->get<std::int64_t>() != 0)
    attributes.push_back(w.attribute("block_size", *b));
  if (const Attr* s = w.attr("saturate"); s && is_float8(w.node().output(0)->type().dtype()))
    attributes.push_back(w.attribute("saturate", *s));
  if (!w.node().input(2))
    attributes.push_back(w.attribute("output_dtype", Attr(w.node().output(0)->type().dtype())));
  w.emit("QuantizeLinear", w.inputs(), w.outputs(), attributes);
  return {};
}

Status write_dequantize(NodeWriter& w) {
  std::vector<WireWriter> attributes = {w.attribute("axis", *w.attr("axis"))};
  if (const Attr* b = w.attr("block_size"); b && *b->get<std::int64_t>() != 0)
    attributes.push_back(w.attribute("block_size", *b));
  if (w.node().output(0)->type().dtype() != w.in_type(1).dtype()) {
    attributes.push_back(w.attribute("output_dtype", Attr(w.node().output(0)->type().dtype())));
    w.model().need("", 23);
  }
  w.emit("DequantizeLinear", w.inputs(), w.outputs(), attributes);
  return {};
}

// ---- control flow: own inputs of each region stay, captures are found by name
// --------------------------

WireWriter graph_attribute(std::string_view name, const WireWriter& g) {
  return WireWriter().text(1, name).message(6, g).integer(20,
                                                          static_cast<int>(AttributeType::graph));
}

std::vector<std::string> first_inputs(NodeWriter& w, int n) {
  std::vector<std::string> names;
  for (int i = 0; i < n; ++i) names.push_back(w.input(i));
  return names;
}

std::vector<std::string> all_outputs(NodeWriter& w) {
  std::vector<std::string> names;
  for (int i = 0; i < static_cast<int>(w.node().outputs().size()); ++i)
    names.push_back(w.output(i));
  return names;
}

Status write_if(NodeWriter& w) {
  const WireWriter yes = w.region(0, 0, 1), no = w.region(1, 0, 1);
  w.emit("If", {w.input(0)}, all_outputs(w),
         {graph_attribute("then_branch", yes), graph_attribute("else_branch", no)});
  return {};
}

Status write_flex_attention(NodeWriter& w) {
  std::vector<WireWriter> attributes;
  int region = 0;
  for (const char* modifier : {"score_mod", "prob_mod"})
    if (*w.attr(fmt::format("has_{}", modifier))->get<bool>())
      attributes.push_back(graph_attribute(modifier, w.region(region++, 1, 3)));
  for (const char* name : {"scale", "softmax_precision"})
    if (const Attr* a = w.attr(name)) attributes.push_back(w.attribute(name, *a));
  w.emit("FlexAttention", first_inputs(w, 3), w.outputs(), attributes, "ai.onnx.preview");
  return {};
}

Status write_loop(NodeWriter& w) {
  const int carried = static_cast<int>(*w.attr("num_carried")->get<std::int64_t>());
  w.emit("Loop", first_inputs(w, 2 + carried), all_outputs(w),
         {graph_attribute("body", w.region(0, 2 + carried, 2 + carried))});
  return {};
}

Status write_scan(NodeWriter& w) {
  const auto scans = *w.attr("num_scan_inputs")->get<std::int64_t>();
  const int own = static_cast<int>(*w.attr("num_states")->get<std::int64_t>() + scans);
  std::vector<WireWriter> attributes = {w.attribute("num_scan_inputs", Attr(scans)),
                                        graph_attribute("body", w.region(0, own, own))};
  for (const char* list :
       {"scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"})
    if (const Attr* a = w.node().attrs().find(list); a && !a->get<Attr::Integers>()->empty())
      attributes.push_back(w.attribute(list, *a));
  w.emit("Scan", first_inputs(w, own), all_outputs(w), attributes);
  return {};
}

// The seed of ONNX is a float.
template <int kind>
Status write_random(NodeWriter& w) {
  constexpr const char* ops[] = {"RandomNormal",      "RandomUniform", "RandomNormalLike",
                                 "RandomUniformLike", "Bernoulli",     "Multinomial"};
  std::vector<WireWriter> attributes;
  for (const AttrSpec& spec : w.node().op().attrs) {
    const Attr* a = w.attr(spec.name);
    if (!a) continue;
    attributes.push_back(
        spec.name == "seed"
            ? w.attribute("seed", Attr(static_cast<double>(*a->get<std::int64_t>())))
            : w.attribute(spec.name, *a));
  }
  // The page's last input, a key that changes from step to step, has no counterpart.
  std::vector<std::string> inputs = w.inputs();
  inputs.resize(std::min<std::size_t>(inputs.size(), kind <= 1 ? 0 : 1));
  w.model().lose(
      fmt::format("{}: another engine draws other numbers from the same seed", w.node().place()));
  w.emit(ops[kind], inputs, w.outputs(), attributes);
  return {};
}

Status write_dropout(NodeWriter& w) {
  std::vector<std::string> inputs = w.inputs();
  inputs.resize(std::min<std::size_t>(inputs.size(), 3));
  w.emit("Dropout", inputs, w.outputs(), {w.attribute("seed", *w.attr("seed"))});
  return {};
}

Status write_optional(NodeWriter& w) {
  if (w.node().input(0)) {
    w.emit("Optional", w.inputs(), w.outputs());
    return {};
  }
  const Type type = TENON_TRY(Type::parse(*w.attr("type")->get<std::string>()));
  w.emit("Optional", {}, w.outputs(),
         {WireWriter()
              .text(1, "type")
              .message(14, type_proto(type))
              .integer(20, static_cast<int>(AttributeType::type))});
  return {};
}

using Renames = std::vector<std::pair<std::string_view, std::string_view>>;

void add_elementwise(std::vector<WriteRow>& rows) {
  for (auto [page, op] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"abs", "Abs"},
           {"neg", "Neg"},
           {"sign", "Sign"},
           {"floor", "Floor"},
           {"ceil", "Ceil"},
           {"round", "Round"},
           {"sqrt", "Sqrt"},
           {"reciprocal", "Reciprocal"},
           {"exp", "Exp"},
           {"log", "Log"},
           {"sin", "Sin"},
           {"cos", "Cos"},
           {"tan", "Tan"},
           {"asin", "Asin"},
           {"acos", "Acos"},
           {"atan", "Atan"},
           {"sinh", "Sinh"},
           {"cosh", "Cosh"},
           {"tanh", "Tanh"},
           {"asinh", "Asinh"},
           {"acosh", "Acosh"},
           {"atanh", "Atanh"},
           {"erf", "Erf"},
           {"sigmoid", "Sigmoid"},
           {"relu", "Relu"},
           {"softplus", "Softplus"},
           {"softsign", "Softsign"},
           {"mish", "Mish"},
           {"hard_swish", "HardSwish"},
           {"hard_sigmoid", "HardSigmoid"},
           {"elu", "Elu"},
           {"celu", "Celu"},
           {"selu", "Selu"},
           {"leaky_relu", "LeakyRelu"},
           {"thresholded_relu", "ThresholdedRelu"},
           {"shrink", "Shrink"},
           {"gelu", "Gelu"},
           {"logical_not", "Not"},
           {"bitwise_not", "BitwiseNot"},
           {"is_nan", "IsNaN"},
           {"is_inf", "IsInf"},
           {"identity", "Identity"},
           {"add", "Add"},
           {"sub", "Sub"},
           {"mul", "Mul"},
           {"div", "Div"},
           {"pow", "Pow"},
           {"mod", "Mod"},
           {"min", "Min"},
           {"max", "Max"},
           {"logical_and", "And"},
           {"logical_or", "Or"},
           {"logical_xor", "Xor"},
           {"bitwise_and", "BitwiseAnd"},
           {"bitwise_or", "BitwiseOr"},
           {"bitwise_xor", "BitwiseXor"},
           {"less", "Less"},
           {"less_equal", "LessOrEqual"},
           {"greater", "Greater"},
           {"greater_equal", "GreaterOrEqual"},
           {"equal", "Equal"},
           {"prelu", "PRelu"},
           {"where", "Where"},
           {"clip", "Clip"}})
    rows.push_back({page, op});
  rows.push_back({.page = "stop_gradient", .op_type = "Identity"});
  rows.push_back({.page = "cast", .op_type = "Cast", .write = write_cast});
  rows.push_back({.page = "cast_text", .op_type = "Cast"});
  rows.push_back({.page = "bitcast", .op_type = "BitCast", .since = 26});
  rows.push_back({.page = "silu", .op_type = "Mul", .write = write_silu});
  rows.push_back({.page = "bit_shift", .op_type = "BitShift", .write = write_bit_shift});
}

void add_shapes_and_sums(std::vector<WriteRow>& rows) {
  for (auto [page, op] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"reduce_sum", "ReduceSum"},
           {"reduce_mean", "ReduceMean"},
           {"reduce_max", "ReduceMax"},
           {"reduce_min", "ReduceMin"},
           {"reduce_prod", "ReduceProd"},
           {"reduce_l1", "ReduceL1"},
           {"reduce_l2", "ReduceL2"},
           {"reduce_log_sum", "ReduceLogSum"},
           {"reduce_log_sum_exp", "ReduceLogSumExp"},
           {"reduce_sum_square", "ReduceSumSquare"},
           {"argmax", "ArgMax"},
           {"argmin", "ArgMin"},
           {"cumsum", "CumSum"},
           {"softmax", "Softmax"},
           {"log_softmax", "LogSoftmax"},
           {"hardmax", "Hardmax"},
           {"top_k", "TopK"},
           {"shape", "Shape"},
           {"size", "Size"},
           {"flatten", "Flatten"},
           {"squeeze", "Squeeze"},
           {"unsqueeze", "Unsqueeze"},
           {"transpose", "Transpose"},
           {"concat", "Concat"},
           {"slice", "Slice"},
           {"pad", "Pad"},
           {"tile", "Tile"},
           {"expand", "Expand"},
           {"eye_like", "EyeLike"},
           {"trilu", "Trilu"},
           {"depth_to_space", "DepthToSpace"},
           {"center_crop_pad", "CenterCropPad"},
           {"constant_of_shape", "ConstantOfShape"},
           {"gather", "Gather"},
           {"gather_elements", "GatherElements"},
           {"gather_nd", "GatherND"},
           {"scatter_elements", "ScatterElements"},
           {"scatter_nd", "ScatterND"},
           {"reverse_sequence", "ReverseSequence"},
           {"compress", "Compress"},
           {"non_zero", "NonZero"},
           {"unique", "Unique"},
           {"one_hot", "OneHot"},
           {"nms", "NonMaxSuppression"},
           {"resize", "Resize"},
           {"grid_sample", "GridSample"},
           {"affine_grid", "AffineGrid"},
           {"dft", "DFT"},
           {"stft", "STFT"}})
    rows.push_back({page, op});
  rows.push_back({.page = "cumprod", .op_type = "CumProd", .since = 26});
  rows.push_back(
      {.page = "reshape", .op_type = "Reshape", .renames = {{"allow_zero", "allowzero"}}});
  rows.push_back({.page = "range", .op_type = "Range", .write = write_range});
  rows.push_back(
      {.page = "space_to_depth", .op_type = "SpaceToDepth", .write = write_space_to_depth});
  rows.push_back({.page = "split", .op_type = "Split", .write = write_split});
  rows.push_back({.page = "tensor_scatter", .op_type = "TensorScatter", .since = 24});
  for (auto [page, op] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"hann_window", "HannWindow"},
           {"hamming_window", "HammingWindow"},
           {"blackman_window", "BlackmanWindow"},
           {"mel_weight_matrix", "MelWeightMatrix"}})
    rows.push_back({page, op, 17, {{"dtype", "output_datatype"}}});
}

void add_networks(std::vector<WriteRow>& rows) {
  const Renames kernel = {{"kernel", "kernel_shape"}};
  for (auto [page, op] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"matmul", "MatMul"},
           {"einsum", "Einsum"},
           {"det", "Det"},
           {"conv", "Conv"},
           {"conv_transpose", "ConvTranspose"},
           {"global_average_pool", "GlobalAveragePool"},
           {"global_max_pool", "GlobalMaxPool"},
           {"global_lp_pool", "GlobalLpPool"},
           {"max_roi_pool", "MaxRoiPool"},
           {"roi_align", "RoiAlign"},
           {"layer_norm", "LayerNormalization"},
           {"group_norm", "GroupNormalization"},
           {"instance_norm", "InstanceNormalization"},
           {"lrn", "LRN"},
           {"lp_norm", "LpNormalization"},
           {"mean_variance_norm", "MeanVarianceNormalization"},
           {"dynamic_quantize_linear", "DynamicQuantizeLinear"},
           {"matmul_integer", "MatMulInteger"},
           {"conv_integer", "ConvInteger"},
           {"qlinear_matmul", "QLinearMatMul"},
           {"qlinear_conv", "QLinearConv"},
           {"rnn", "RNN"},
           {"gru", "GRU"},
           {"lstm", "LSTM"},
           {"nll_loss", "NegativeLogLikelihoodLoss"},
           {"softmax_cross_entropy", "SoftmaxCrossEntropyLoss"},
           {"col2im", "Col2Im"}})
    rows.push_back({page, op});
  rows.push_back({.page = "gemm",
                  .op_type = "Gemm",
                  .renames = {{"trans_a", "transA"}, {"trans_b", "transB"}}});
  rows.push_back(
      {.page = "deform_conv", .op_type = "DeformConv", .since = 22, .renames = {{"auto_pad", ""}}});
  rows.push_back({.page = "max_pool", .op_type = "MaxPool", .renames = kernel});
  rows.push_back({.page = "lp_pool", .op_type = "LpPool", .renames = kernel});
  rows.push_back({.page = "max_unpool", .op_type = "MaxUnpool", .renames = kernel});
  rows.push_back({.page = "average_pool", .op_type = "AveragePool", .write = write_average_pool});
  rows.push_back({.page = "batch_norm",
                  .op_type = "BatchNormalization",
                  .renames = {{"training", "training_mode"}}});
  rows.push_back({.page = "rms_norm", .op_type = "RMSNormalization", .since = 23});
  rows.push_back({.page = "attention", .op_type = "Attention", .since = 24});
  rows.push_back({.page = "rotary_embedding",
                  .op_type = "RotaryEmbedding",
                  .since = 23,
                  .renames = {{"rotary_dim", "rotary_embedding_dim"}}});
  rows.push_back({.page = "quantize_linear", .op_type = "QuantizeLinear", .write = write_quantize});
  rows.push_back(
      {.page = "dequantize_linear", .op_type = "DequantizeLinear", .write = write_dequantize});
}

void add_the_rest(std::vector<WriteRow>& rows) {
  rows.push_back({.page = "if_else", .op_type = "If", .write = write_if});
  rows.push_back({.page = "loop", .op_type = "Loop", .write = write_loop});
  rows.push_back({.page = "scan", .op_type = "Scan", .write = write_scan});
  for (auto [page, op] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"sequence_construct", "SequenceConstruct"},
           {"sequence_empty", "SequenceEmpty"},
           {"sequence_insert", "SequenceInsert"},
           {"sequence_erase", "SequenceErase"},
           {"sequence_at", "SequenceAt"},
           {"sequence_length", "SequenceLength"},
           {"split_to_sequence", "SplitToSequence"},
           {"concat_from_sequence", "ConcatFromSequence"},
           {"optional_has_element", "OptionalHasElement"},
           {"optional_get_element", "OptionalGetElement"},
           {"string_concat", "StringConcat"},
           {"string_split", "StringSplit"},
           {"string_normalizer", "StringNormalizer"},
           {"regex_full_match", "RegexFullMatch"},
           {"tfidf_vectorizer", "TfIdfVectorizer"},
           {"image_decoder", "ImageDecoder"}})
    rows.push_back({page, op});
  rows.push_back({.page = "dropout", .op_type = "Dropout", .write = write_dropout});
  rows.push_back({.page = "flex_attention",
                  .op_type = "FlexAttention",
                  .write = write_flex_attention,
                  .domain = "ai.onnx.preview"});
  rows.push_back({.page = "linear_attention", .op_type = "LinearAttention", .since = 27});
  rows.push_back({.page = "causal_conv_with_state", .op_type = "CausalConvWithState", .since = 27});
  for (auto [page, op] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"adagrad", "Adagrad"}, {"adam", "Adam"}, {"momentum", "Momentum"}})
    rows.push_back({.page = page, .op_type = op, .domain = "ai.onnx.preview.training"});
  rows.push_back({.page = "optional", .op_type = "Optional", .write = write_optional});
  rows.push_back({.page = "random_normal", .op_type = "RandomNormal", .write = write_random<0>});
  rows.push_back({.page = "random_uniform", .op_type = "RandomUniform", .write = write_random<1>});
  rows.push_back(
      {.page = "random_normal_like", .op_type = "RandomNormalLike", .write = write_random<2>});
  rows.push_back(
      {.page = "random_uniform_like", .op_type = "RandomUniformLike", .write = write_random<3>});
  rows.push_back({.page = "bernoulli", .op_type = "Bernoulli", .write = write_random<4>});
  rows.push_back({.page = "multinomial", .op_type = "Multinomial", .write = write_random<5>});
  rows.push_back({.page = "array_feature_extractor",
                  .op_type = "ArrayFeatureExtractor",
                  .domain = "ai.onnx.ml"});
  rows.push_back({.page = "binarizer", .op_type = "Binarizer", .domain = "ai.onnx.ml"});
  rows.push_back({.page = "label_encoder",
                  .op_type = "LabelEncoder",
                  .since = 4,
                  .write = write_label_encoder,
                  .domain = "ai.onnx.ml"});
  rows.push_back(
      {.page = "tree_ensemble", .op_type = "TreeEnsemble", .since = 5, .domain = "ai.onnx.ml"});
}

const std::map<std::string_view, WriteRow>& table() {
  static const std::map<std::string_view, WriteRow> instance = [] {
    std::vector<WriteRow> rows;
    add_elementwise(rows);
    add_shapes_and_sums(rows);
    add_networks(rows);
    add_the_rest(rows);
    std::map<std::string_view, WriteRow> by_page;
    for (WriteRow& row : rows)
      TENON_CHECK(by_page.emplace(row.page, row).second, "two rows write {}", row.page);
    return by_page;
  }();
  return instance;
}

}  // namespace

const WriteRow* find_write_row(std::string_view page) {
  const auto it = table().find(page);
  return it == table().end() ? nullptr : &it->second;
}

}  // namespace tenon::onnx
