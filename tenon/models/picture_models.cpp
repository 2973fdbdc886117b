// Models of pictures: image f32 [n, channels, height, width].
#include <algorithm>
#include <cmath>

#include "tenon/models/kinds_internal.h"

namespace tenon::models {
namespace {

Value* flat(Net& net, Value* x) { return net.b().flatten(x, Attrs{{"axis", 1}}); }
Value* pooled(Net& net, Value* x) { return flat(net, net.b().global_average_pool(x)); }

// The samples' pictures, or energies of sound [mels, frames] as pictures of one channel.
Value* picture(Making& m) {
  for (const InputField& f : m.request.fields)
    if (f.name == "sound" && f.dims.size() == 2)
      return m.net.b().unsqueeze(m.field({"sound"}, 2), m.net.b().ints({1}));
  return m.field({"image"}, 3);
}

// hidden layers with rectifiers, then one without
Value* head(Net& net, Value* x, const std::vector<int>& hidden, std::int64_t out, double ratio) {
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    x = net.b().relu(linear(net, fmt::format("fc{}", i + 1), x, hidden[i]));
    x = dropout(net, x, ratio);
  }
  return linear(net, fmt::format("fc{}", hidden.size() + 1), x, out);
}

// ---- residual networks (He et al. 2015, arXiv 1512.03385; stride in the 3 x 3 convolution)
// -------

Value* conv_norm(Net& net, const std::string& conv, const std::string& norm, Value* x,
                 std::int64_t out, int kernel, int stride, int padding) {
  const Init init = he_normal(out * kernel * kernel);
  return batch_norm(net, norm,
                    conv2d(net, conv, x, out, kernel, {stride, padding, 1, false, &init}));
}

Value* shortcut(Net& net, Value* x, std::int64_t out, int stride) {
  if (stride == 1 && size_of_axis(net, x, 1) == out) return x;
  return conv_norm(net, "downsample.0", "downsample.1", x, out, 1, stride, 0);
}

Value* basic_block(Net& net, Value* x, std::int64_t width, int stride) {
  Value* y = net.b().relu(conv_norm(net, "conv1", "bn1", x, width, 3, stride, 1));
  y = conv_norm(net, "conv2", "bn2", y, width, 3, 1, 1);
  return net.b().relu(net.b().add(y, shortcut(net, x, width, stride)));
}

Value* bottleneck(Net& net, Value* x, std::int64_t width, int stride) {
  Value* y = net.b().relu(conv_norm(net, "conv1", "bn1", x, width, 1, 1, 0));
  y = net.b().relu(conv_norm(net, "conv2", "bn2", y, width, 3, stride, 1));
  y = conv_norm(net, "conv3", "bn3", y, 4 * width, 1, 1, 0);
  return net.b().relu(net.b().add(y, shortcut(net, x, 4 * width, stride)));
}

struct Depth {
  int layers;
  std::vector<int> blocks;
  bool is_deep;  // of bottlenecks
};
const std::vector<Depth>& depths() {
  static const std::vector<Depth> all = {{18, {2, 2, 2, 2}, false},
                                         {34, {3, 4, 6, 3}, false},
                                         {50, {3, 4, 6, 3}, true},
                                         {101, {3, 4, 23, 3}, true},
                                         {152, {3, 8, 36, 3}, true}};
  return all;
}

Value* stem(Net& net, Value* x, std::int64_t width, bool is_small) {
  x = net.b().relu(conv_norm(net, "conv1", "bn1", x, width, is_small ? 3 : 7, is_small ? 1 : 2,
                             is_small ? 1 : 3));
  return is_small ? x : max_pool2d(net, x, 3, 2, 1);
}

// ---- transformers of pictures
// --------------------------------------------------------------------

Value* vit_block(Net& net, const std::string& name, Value* x, int heads, std::int64_t mlp) {
  const Net::Scope scope(net, name);
  const Init init = truncated_normal(0.02);
  AttentionOptions attention;
  attention.heads = heads;
  attention.init = attention.out_init = &init;
  x = net.b().add(x, self_attention(net, "attn", layer_norm(net, "norm1", x, 1e-6), attention));
  const std::int64_t width = size_of_axis(net, x, -1);
  Value* y = linear(net, "fc1", layer_norm(net, "norm2", x, 1e-6), mlp, {true, &init});
  return net.b().add(x, linear(net, "fc2", net.b().gelu(y), width, {true, &init}));
}

// [n, c, h, w] -> [n, patches, width]
Value* patches(Net& net, Value* image, std::int64_t width, int patch) {
  Value* x = conv2d(net, "patch_embed", image, width, patch, {patch, 0, 1, true, nullptr});
  x = net.b().reshape(x, net.b().ints({0, width, -1}));
  return net.b().transpose(x, Attrs{{"perm", Attr::Integers{0, 2, 1}}});
}

}  // namespace

void make_mlp(Making& m) {
  const auto hidden = m.integers("hidden", {256, 128});
  const double ratio = m.share("dropout", 0);
  Value* x = m.field({"image", "numeric", "sound", "x"}, -1);
  m.net.output(head(m.net, flat(m.net, x), hidden, m.classes(), ratio), "logits");
}

// LeNet-5 with rectifiers and max pooling (LeCun et al. 1998).
void make_lenet(Making& m) {
  Value* x = picture(m);
  const int pad = size_of_axis(m.net, x, 2) >= 32 ? 0 : 2;
  x = max_pool2d(m.net, m.net.b().relu(conv2d(m.net, "conv1", x, 6, 5, {1, pad, 1, true, nullptr})),
                 2, 2);
  x = max_pool2d(m.net, m.net.b().relu(conv2d(m.net, "conv2", x, 16, 5)), 2, 2);
  m.net.output(head(m.net, flat(m.net, x), {120, 84}, m.classes(), 0), "logits");
}

// Stages of convolutions, each halving the picture, then a hidden layer.
void make_cnn(Making& m) {
  const auto channels = m.integers("channels", {32, 64});
  const auto hidden = m.integers("hidden", {128});
  const auto convolutions = m.integer("convolutions", 1);
  const double ratio = m.share("dropout", 0);
  Value* x = picture(m);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const Net::Scope scope(m.net, fmt::format("stage{}", i + 1));
    for (std::int64_t k = 1; k <= convolutions; ++k)
      x = m.net.b().relu(conv_norm(m.net, fmt::format("conv{}", k), fmt::format("bn{}", k), x,
                                   channels[i], 3, 1, 1));
    x = max_pool2d(m.net, x, 2, 2);
  }
  m.net.output(head(m.net, flat(m.net, x), hidden, m.classes(), ratio), "logits");
}

void make_resnet(Making& m) {
  const std::int64_t layers = m.integer("depth", 18), width = m.integer("width", 64);
  bool is_small = false;
  m.keys.boolean("small_pictures", is_small);
  const auto found = std::find_if(depths().begin(), depths().end(),
                                  [&](const Depth& d) { return d.layers == layers; });
  if (found == depths().end()) {
    m.keys.problem(
        invalid("'depth' is {} but residual networks have 18, 34, 50, 101 or 152 layers", layers)
            .at(m.keys.where()));
    return;
  }
  Value* x = stem(m.net, picture(m), width, is_small);
  for (std::size_t s = 0; s < found->blocks.size(); ++s)
    for (int i = 0; i < found->blocks[s]; ++i) {
      const Net::Scope scope(m.net, fmt::format("layer{}.{}", s + 1, i));
      x = (found->is_deep ? bottleneck : basic_block)(m.net, x, width << s,
                                                      s > 0 && i == 0 ? 2 : 1);
    }
  m.net.output(linear(m.net, "fc", pooled(m.net, x), m.classes()), "logits");
}

// Dosovitskiy et al. 2020 (arXiv 2010.11929), with the mean of all patches in place of a class
// token.
void make_vit(Making& m) {
  const std::int64_t width = m.integer("width", 192), layers = m.integer("layers", 12),
                     mlp = m.integer("mlp", 4 * width);
  const int heads = static_cast<int>(m.integer("heads", 3)),
            patch = static_cast<int>(m.integer("patch", 16));
  Value* x = patches(m.net, picture(m), width, patch);
  x = m.net.b().add(
      x, m.net.weight("pos_embed", {size_of_axis(m.net, x, 1), width}, truncated_normal(0.02)));
  for (std::int64_t i = 0; i < layers; ++i)
    x = vit_block(m.net, fmt::format("blocks.{}", i), x, heads, mlp);
  x = layer_norm(m.net, "norm", x, 1e-6);
  x = m.net.b().reduce_mean(x, m.net.b().ints({1}), Attrs{{"keepdims", false}});
  m.net.output(linear(m.net, "head", x, m.classes()), "logits");
}

// One box for each cell of a grid, in the manner of YOLO (Redmon et al. 2015, arXiv 1506.02640):
// boxes [n, cells, 5 + classes] = objectness, centre within the cell, size by the picture, classes;
// all before their sigmoids.
void make_detector(Making& m) {
  const auto channels = m.integers("channels", {16, 32, 64, 128, 256});
  Value* x = picture(m);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const Net::Scope scope(m.net, fmt::format("stage{}", i + 1));
    x = conv_norm(m.net, "conv", "bn", x, channels[i], 3, 2, 1);
    x = m.net.b().leaky_relu(x, Attrs{{"alpha", 0.1}});
  }
  const std::int64_t out = 5 + m.classes();
  x = conv2d(m.net, "head", x, out, 1);
  x = m.net.b().reshape(x, m.net.b().ints({0, out, -1}));
  m.net.output(m.net.b().transpose(x, Attrs{{"perm", Attr::Integers{0, 2, 1}}}), "boxes");
}

}  // namespace tenon::models
