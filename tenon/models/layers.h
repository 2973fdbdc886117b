// Layers: functions from values to values that make their weights in the scope `name`.
#pragma once

#include "tenon/models/net.h"

namespace tenon::models {

struct LinearOptions {
  bool bias = true;
  /// Of the weight; the bias then starts at 0. Without it both are default_uniform.
  const Init* init = nullptr;
};
/// x[..., in] -> [..., out]; weight [in, out], bias [out].
Value* linear(Net& net, std::string_view name, Value* x, std::int64_t out,
              const LinearOptions& options = {});

struct ConvOptions {
  int stride = 1, padding = 0, groups = 1;
  bool bias = true;
  const Init* init = nullptr;
};
/// x[n, in, h, w] -> [n, out, h', w']; weight [out, in / groups, kernel, kernel], bias [out].
Value* conv2d(Net& net, std::string_view name, Value* x, std::int64_t out, int kernel,
              const ConvOptions& options = {});
/// Largest element, mean of windows of kernel x kernel.
Value* max_pool2d(Net& net, Value* x, int kernel, int stride, int padding = 0);
Value* average_pool2d(Net& net, Value* x, int kernel, int stride, int padding = 0);

/// Channels (axis 1) at mean 0 and variance 1; weight, bias, running_mean, running_var [c]. Running
/// statistics move by a tenth a step, with the batch's own variance (PyTorch takes n / (n - 1)
/// of it).
Value* batch_norm(Net& net, std::string_view name, Value* x);
/// The last axis at mean 0 and variance 1; weight and bias [n].
Value* layer_norm(Net& net, std::string_view name, Value* x, double epsilon = 1e-5);
/// Rows of a table [rows, width] at ids; first values normal(deviation).
Value* embedding(Net& net, std::string_view name, Value* ids, std::int64_t rows, std::int64_t width,
                 double deviation = 1);
/// The identity; zeros for a share `ratio` of the elements in training, the rest scaled up.
Value* dropout(Net& net, Value* x, double ratio);

struct AttentionOptions {
  int heads = 1;
  bool is_causal = false;
  double dropout = 0;          // of what comes out
  Value* lengths = nullptr;    // i64 [n]: positions from there on are not seen
  const Init* init = nullptr;  // of query, key and value
  const Init* out_init = nullptr;
};
/// Self-attention over x[n, t, width]: layers `qkv` (query, key and value side by side) and `proj`.
Value* self_attention(Net& net, std::string_view name, Value* x, const AttentionOptions& options);

/// x[n, t, in] -> [n, t, directions * hidden]; weights w [d, 4 hidden, in], r [d, 4 hidden, hidden]
/// and b [d, 8 hidden], gates in the order input, output, forget, cell; all uniform(1 /
/// sqrt(hidden)).
Value* lstm(Net& net, std::string_view name, Value* x, std::int64_t hidden, bool is_bidirectional);

/// The size of axis `axis`, which must be known; fails the net otherwise.
std::int64_t size_of_axis(Net& net, const Value* x, int axis);

}  // namespace tenon::models
