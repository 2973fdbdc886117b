// All rows, found by domain and name.
#include <algorithm>
#include <map>

#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
namespace {

struct Table {
  Rows rows;
  std::map<std::pair<std::string_view, std::string_view>, const Row*> by_name;
  Table() {
    add_math_rows(rows);
    add_reduce_rows(rows);
    add_shape_rows(rows);
    add_index_rows(rows);
    add_nn_rows(rows);
    add_attention_rows(rows);
    add_resize_rows(rows);
    add_quant_rows(rows);
    add_random_rows(rows);
    add_signal_rows(rows);
    add_text_rows(rows);
    add_sequence_rows(rows);
    add_control_rows(rows);
    add_ml_rows(rows);
    add_training_rows(rows);
    add_contrib_rows(rows);
    for (const Row& row : rows)
      TENON_CHECK(by_name.emplace(std::pair(row.domain, row.op_type), &row).second,
                  "two rows convert {}", row.op_type);
  }
};

// How many leading inputs an operator cannot do without, over all of its versions; one for those
// not listed.
struct Needs {
  int count;
  std::string_view op_types;  // each between blanks
};
constexpr Needs kNeeds[] = {
    {0,
     " Constant ConstantFill Optional OptionalHasElement OptionalGetElement RandomNormal "
     "RandomUniform SequenceEmpty Loop Scan Gradient "},
    {2,
     " Add AffineGrid And BitShift BitwiseAnd BitwiseOr BitwiseXor CastLike CausalConvWithState "
     "CenterCropPad Compress Conv ConvInteger ConvTranspose CumProd "
     "CumSum DequantizeLinear Div Equal Expand Gather GatherElements GatherND Gemm Greater "
     "GreaterOrEqual GridSample LayerNormalization Less LessOrEqual MatMul "
     "MatMulInteger MaxRoiPool MaxUnpool Mod Mul NegativeLogLikelihoodLoss NonMaxSuppression Or "
     "PRelu Pow QuantizeLinear RMSNormalization ReverseSequence STFT "
     "SequenceAt SequenceInsert SoftmaxCrossEntropyLoss StringConcat Sub TensorScatter Tile Xor "
     "ArrayFeatureExtractor FusedMatMul TransposeMatMul FusedConv "
     "FusedGemm BiasGelu BiasSplitGelu SimplifiedLayerNormalization NhwcConv NhwcFusedConv "
     "ExpandDims QLinearWhere QLinearConv "},
    {3,
     " Col2Im DeformConv GRU GroupNormalization InstanceNormalization LSTM LinearAttention OneHot "
     "RNN RoiAlign Scatter ScatterElements ScatterND Where "
     "FlexAttention Adagrad Adam Momentum BiasAdd SkipLayerNormalization "
     "SkipSimplifiedLayerNormalization GroupNorm QLinearConcat DynamicQuantizeMatMul MatMulNBits "},
    {4, " MatMulIntegerToFloat "},
    {5, " BatchNormalization MelWeightMatrix QAttention "},
    {6, " QGemm "},
    {8, " QLinearMatMul "},
};

const Table& table() {
  static const Table instance;
  return instance;
}

}  // namespace

const Row* find_row(std::string_view domain, std::string_view op_type) {
  const auto it = table().by_name.find({domain, op_type});
  return it == table().by_name.end() ? nullptr : it->second;
}

int required_inputs(const Row& row) {
  const std::string wanted = fmt::format(" {} ", row.op_type);
  for (const Needs& needs : kNeeds)
    if (needs.op_types.find(wanted) != needs.op_types.npos) return needs.count;
  return 1;
}

std::vector<std::string> operator_names(std::string_view domain) {
  std::vector<std::string> names;
  for (const Row& row : table().rows)
    if (row.domain == domain) names.emplace_back(row.op_type);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tenon::onnx
