// Layers as calls on operators.
#include "tenon/models/layers.h"

#include <cmath>

namespace tenon::models {

std::int64_t size_of_axis(Net& net, const Value* x, int axis) {
  const Type& t = x->type();
  if (t.is_tensor() && t.ranked() && t.ndim() > (axis < 0 ? -axis - 1 : axis))
    if (const auto d = constant_dims({t.dim(axis)})) return (*d)[0];
  net.fail(invalid("axis {} of {} has no known size", axis, t.text()));
  return 1;
}

Value* linear(Net& net, std::string_view name, Value* x, std::int64_t out,
              const LinearOptions& options) {
  const Net::Scope scope(net, name);
  const std::int64_t in = size_of_axis(net, x, -1);
  Value* y = net.b().matmul(
      x, net.weight("weight", {in, out}, options.init ? *options.init : default_uniform(in)));
  if (!options.bias) return y;
  return net.b().add(y,
                     net.weight("bias", {out}, options.init ? constant(0) : default_uniform(in)));
}

Value* conv2d(Net& net, std::string_view name, Value* x, std::int64_t out, int kernel,
              const ConvOptions& options) {
  const Net::Scope scope(net, name);
  const std::int64_t in = size_of_axis(net, x, 1) / options.groups, fan_in = in * kernel * kernel;
  Value* w = net.weight("weight", {out, in, kernel, kernel},
                        options.init ? *options.init : default_uniform(fan_in));
  Value* b = options.bias
                 ? net.weight("bias", {out}, options.init ? constant(0) : default_uniform(fan_in))
                 : nullptr;
  const std::int64_t s = options.stride, p = options.padding;
  const Attrs attrs = {{"strides", Attr::Integers{s, s}},
                       {"pads", Attr::Integers{p, p, p, p}},
                       {"group", options.groups}};
  return b ? net.b().conv(x, w, b, attrs) : net.b().conv(x, w, attrs);
}

namespace {

Attrs window(std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  return {{"kernel", Attr::Integers{kernel, kernel}},
          {"strides", Attr::Integers{stride, stride}},
          {"pads", Attr::Integers{padding, padding, padding, padding}}};
}

}  // namespace

Value* max_pool2d(Net& net, Value* x, int kernel, int stride, int padding) {
  return net.b().max_pool(x, window(kernel, stride, padding));
}
Value* average_pool2d(Net& net, Value* x, int kernel, int stride, int padding) {
  return net.b().average_pool(x, window(kernel, stride, padding));
}

Value* batch_norm(Net& net, std::string_view name, Value* x) {
  const Net::Scope scope(net, name);
  const std::int64_t c = size_of_axis(net, x, 1);
  Value *scale = net.weight("weight", {c}, constant(1)),
        *bias = net.weight("bias", {c}, constant(0));
  return net.b().batch_norm(x, scale, bias,
                            net.buffer("running_mean", Tensor::full(DType::f32, {c}, 0)),
                            net.buffer("running_var", Tensor::full(DType::f32, {c}, 1)));
}

Value* layer_norm(Net& net, std::string_view name, Value* x, double epsilon) {
  const Net::Scope scope(net, name);
  const std::int64_t n = size_of_axis(net, x, -1);
  return net.b().layer_norm(x, net.weight("weight", {n}, constant(1)),
                            net.weight("bias", {n}, constant(0)), Attrs{{"epsilon", epsilon}});
}

Value* embedding(Net& net, std::string_view name, Value* ids, std::int64_t rows, std::int64_t width,
                 double deviation) {
  const Net::Scope scope(net, name);
  return net.b().gather(net.weight("weight", {rows, width}, normal(deviation)), ids);
}

Value* dropout(Net& net, Value* x, double ratio) {
  if (ratio <= 0) return x;
  return net.b().dropout(x, net.b().number(ratio, DType::f32));
}

Value* self_attention(Net& net, std::string_view name, Value* x, const AttentionOptions& options) {
  const Net::Scope scope(net, name);
  const std::int64_t width = size_of_axis(net, x, -1);
  if (width % options.heads) net.fail(invalid("{} heads do not divide {}", options.heads, width));
  Value* qkv = linear(net, "qkv", x, 3 * width, {true, options.init});
  const Values parts =
      net.b().all_of("split", {qkv, net.b().ints({width, width, width})}, Attrs{{"axis", -1}}, 3);
  Values inputs = {parts[0], parts[1], parts[2]};
  if (options.lengths) inputs.insert(inputs.end(), {nullptr, nullptr, nullptr, options.lengths});
  Value* y = net.b().attention(inputs, Attrs{{"q_num_heads", options.heads},
                                             {"kv_num_heads", options.heads},
                                             {"is_causal", options.is_causal}});
  return dropout(net, linear(net, "proj", y, width, {true, options.out_init}), options.dropout);
}

Value* lstm(Net& net, std::string_view name, Value* x, std::int64_t hidden, bool is_bidirectional) {
  const Net::Scope scope(net, name);
  const std::int64_t in = size_of_axis(net, x, -1), d = is_bidirectional ? 2 : 1;
  const Init init = default_uniform(hidden);
  Value *w = net.weight("w", {d, 4 * hidden, in}, init),
        *r = net.weight("r", {d, 4 * hidden, hidden}, init),
        *bias = net.weight("b", {d, 8 * hidden}, init);
  // The operator is time first: [t, d, n, hidden] comes back as [n, t, d * hidden].
  Value* y =
      net.b().lstm(net.b().transpose(x, Attrs{{"perm", Attr::Integers{1, 0, 2}}}), w, r, bias,
                   Attrs{{"direction", is_bidirectional ? "bidirectional" : "forward"},
                         {"hidden_size", hidden}});
  Value* back = net.b().transpose(y, Attrs{{"perm", Attr::Integers{2, 0, 1, 3}}});
  return net.b().reshape(back, net.b().ints({0, 0, d * hidden}));
}

}  // namespace tenon::models
