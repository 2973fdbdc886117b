// Convolutional and recommendation models as workloads.
#include "tenon/planner/layer_builders_internal.h"

namespace tenon::planner {
namespace {

/// A convolution as the matrix product it is: rows are output pixels, inner the window, columns the
/// output channels; batch norm and ReLU behind it.
void add_convolution(LayerClass& layer, const std::string& name, int side, int in, int window,
                     int out) {
  const double pixels = double(side) * side, inner = double(in) * window * window;
  layer.ops.push_back(matmul_op(name, pixels, inner, out));
  layer.ops.push_back(memory_op("batch_norm", 8 * pixels * out, 12 * pixels * out, Split::whole));
  layer.parameters.push_back(matrix(name, inner * out, false));
  layer.parameters.push_back(matrix("batch_norm", 2.0 * out, false));
  layer.kept.push_back({name + "_out", 2 * pixels * out, Split::whole, false, false});
  layer.kept.push_back({name + "_normal", 2 * pixels * out, Split::whole, false, false});
}

LayerClass convolution_layer(const std::string& name, double input_elements) {
  LayerClass layer;
  layer.name = name;
  layer.kind = LayerKind::convolution;
  layer.input_bytes = 2 * input_elements;
  return layer;
}

/// 1x1 down, 3x3 (which strides), 1x1 up by four; the first of a stage widens its shortcut.
LayerClass bottleneck(int side_in, int side, int in, int width, bool widens) {
  LayerClass layer = convolution_layer("bottleneck", double(side_in) * side_in * in);
  add_convolution(layer, "narrow", side_in, in, 1, width);
  add_convolution(layer, "middle", side, width, 3, width);
  add_convolution(layer, "widen", side, width, 1, 4 * width);
  if (widens) add_convolution(layer, "shortcut", side, in, 1, 4 * width);
  return layer;
}

void add_layer_block(Workload& w, LayerClass layer, int count, double boundary_elements) {
  w.classes.push_back(std::move(layer));
  w.block_types.push_back(
      {w.classes.back().name, {static_cast<int>(w.classes.size()) - 1}, 2 * boundary_elements});
  w.blocks.insert(w.blocks.end(), static_cast<std::size_t>(count),
                  static_cast<int>(w.block_types.size()) - 1);
}

LayerClass mlp_layer(const std::string& name, double in, const std::vector<int>& widths) {
  LayerClass layer;
  layer.name = name;
  layer.kind = LayerKind::ffn;
  layer.input_bytes = 4 * in;
  for (int width : widths) {
    layer.ops.push_back(matmul_op(name, 1, in, width));
    layer.ops.push_back(memory_op("relu", 4.0 * width, 6.0 * width, Split::whole));
    layer.parameters.push_back(matrix(name, in * width + width, false));
    layer.kept.push_back({name, 4.0 * width, Split::whole, false, false});
    in = width;
  }
  return layer;
}

}  // namespace

Workload resnet_workload(const ModelSpec& spec) {
  Workload w;
  int side = spec.image / 2;
  LayerClass stem = convolution_layer("stem", double(spec.image) * spec.image * spec.channels);
  add_convolution(stem, "stem", side, spec.channels, 7, 64);
  w.classes.push_back(stem);
  w.first = {0};
  side /= 2;
  int in = 64, width = 64;
  for (std::size_t stage = 0; stage < spec.stages.size(); ++stage) {
    const int side_in = side;
    if (stage > 0) side /= 2, width *= 2;
    const double out = double(side) * side * 4 * width;
    add_layer_block(w, bottleneck(side_in, side, in, width, true), 1, out);
    in = 4 * width;
    if (spec.stages[stage] > 1) {
      add_layer_block(w, bottleneck(side, side, in, width, false), spec.stages[stage] - 1, out);
    }
  }
  w.classes.push_back(class_head(1, in, spec.classes));
  w.last = {static_cast<int>(w.classes.size()) - 1};
  w.tensor_divisors.push_back({"convolutions (not divided by tensor parallelism)", 1});
  return w;
}

Workload dlrm_workload(const ModelSpec& spec) {
  Workload w;
  LayerClass tables;
  tables.name = "tables";
  tables.kind = LayerKind::table;
  const double vectors = double(spec.tables) * spec.table_dim;
  tables.ops.push_back(memory_op("lookup", 4 * vectors * (spec.lookups + 1),
                                 12 * vectors * spec.lookups, Split::whole));
  Parameter rows =
      matrix("tables", double(spec.tables) * double(spec.table_rows) * spec.table_dim, false);
  rows.expert = rows.sparse = true;
  tables.parameters.push_back(rows);
  tables.exchange_bytes = 4 * vectors;
  tables.kept.push_back({"vectors", 4 * vectors, Split::whole, false, false});
  w.classes.push_back(tables);
  w.first = {0};
  w.num_experts = spec.tables;
  add_layer_block(w, mlp_layer("bottom_mlp", spec.dense_features, spec.bottom_mlp), 1, vectors);
  const double pairs = 0.5 * (spec.tables + 1) * spec.tables + spec.bottom_mlp.back();
  LayerClass top = mlp_layer("top_mlp", pairs, spec.top_mlp);
  top.ops.insert(top.ops.begin(),
                 matmul_op("interaction", spec.tables + 1, spec.table_dim, spec.tables + 1));
  add_layer_block(w, top, 1, spec.top_mlp.back());
  w.classes.push_back(class_head(1, spec.top_mlp.back(), 1));
  w.last = {static_cast<int>(w.classes.size()) - 1};
  w.tensor_divisors.push_back({"tables and small matrices (not divided by tensor parallelism)", 1});
  return w;
}

}  // namespace tenon::planner
