// Models of text and of tables: ids i64 [n, t], numbers f32 [n, k].
#include <cmath>

#include "tenon/models/kinds_internal.h"

namespace tenon::models {
namespace {

// Rows 0 .. t - 1 of a table of positions, t being the length of x[n, t].
Value* positions(Net& net, std::string_view name, Value* ids, std::int64_t rows, std::int64_t width,
                 const Init& init) {
  const Net::Scope scope(net, name);
  Value *table = net.weight("weight", {rows, width}, init), *zero = net.b().ints({0}),
        *length = net.b().slice(net.b().shape(ids), net.b().ints({1}), net.b().ints({2}));
  return net.b().slice(table, zero, length, zero);
}

// ---- GPT-2 (Radford et al. 2019): norms in front, tied embeddings
// --------------------------------

struct GptSizes {
  std::int64_t layers, width, vocabulary, sequence;
  int heads;
  double dropout;
};

Value* gpt_block(Net& net, const std::string& name, Value* x, const GptSizes& s) {
  const Net::Scope scope(net, name);
  const Init init = normal(0.02),
             out = normal(0.02 / std::sqrt(2.0 * static_cast<double>(s.layers)));
  AttentionOptions attention;
  attention.heads = s.heads;
  attention.is_causal = true;
  attention.dropout = s.dropout;
  attention.init = &init;
  attention.out_init = &out;
  x = net.b().add(x, self_attention(net, "attn", layer_norm(net, "ln_1", x), attention));
  Value* y = linear(net, "mlp.fc", layer_norm(net, "ln_2", x), 4 * s.width, {true, &init});
  y = linear(net, "mlp.proj", net.b().gelu(y, Attrs{{"approximate", "tanh"}}), s.width,
             {true, &out});
  return net.b().add(x, dropout(net, y, s.dropout));
}

// ---- BERT (Devlin et al. 2018, arXiv 1810.04805): norms behind
// -----------------------------------

Value* bert_block(Net& net, const std::string& name, Value* x, const AttentionOptions& attention,
                  std::int64_t mlp, double ratio) {
  const Net::Scope scope(net, name);
  const Init init = normal(0.02);
  const std::int64_t width = size_of_axis(net, x, -1);
  x = layer_norm(net, "ln_1", net.b().add(x, self_attention(net, "attn", x, attention)), 1e-12);
  Value* y = net.b().gelu(linear(net, "mlp.fc", x, mlp, {true, &init}));
  y = dropout(net, linear(net, "mlp.proj", y, width, {true, &init}), ratio);
  return layer_norm(net, "ln_2", net.b().add(x, y), 1e-12);
}

// The first position of x[n, t, width].
Value* first_position(Net& net, Value* x) {
  Value* cut = net.b().slice(x, net.b().ints({0}), net.b().ints({1}), net.b().ints({1}));
  return net.b().squeeze(cut, net.b().ints({1}));
}

}  // namespace

void make_gpt(Making& m) {
  GptSizes s{};
  s.layers = m.integer("layers", 12), s.width = m.integer("hidden", 768);
  s.heads = static_cast<int>(m.integer("heads", 12));
  s.vocabulary = m.integer("vocab", 50257), s.sequence = m.integer("sequence", 1024);
  s.dropout = m.share("dropout", 0);
  Net& net = m.net;
  Value* ids = m.field({"tokens"}, 1, true);
  Value* table = net.weight("wte.weight", {s.vocabulary, s.width}, normal(0.02));
  Value* x = net.b().add(net.b().gather(table, ids),
                         positions(net, "wpe", ids, s.sequence, s.width, normal(0.02)));
  x = dropout(net, x, s.dropout);
  for (std::int64_t i = 0; i < s.layers; ++i) x = gpt_block(net, fmt::format("h.{}", i), x, s);
  x = layer_norm(net, "ln_f", x);
  Value* turned = net.b().transpose(table, Attrs{{"perm", Attr::Integers{1, 0}}});
  net.output(net.b().matmul(x, turned), "logits");
}

void make_bert(Making& m) {
  const std::int64_t layers = m.integer("layers", 12), width = m.integer("hidden", 768),
                     vocabulary = m.integer("vocab", 30522), sequence = m.integer("sequence", 512),
                     mlp = m.integer("ffn", 4 * width);
  const double ratio = m.share("dropout", 0.1);
  Net& net = m.net;
  const Init init = normal(0.02);
  AttentionOptions attention;
  attention.heads = static_cast<int>(m.integer("heads", 12));
  attention.dropout = ratio;
  attention.init = attention.out_init = &init;
  Value* ids = m.field({"tokens"}, 1, true);
  attention.lengths = m.field_if_there("lengths");
  Value* x = net.b().add(embedding(net, "tokens", ids, vocabulary, width, 0.02),
                         positions(net, "positions", ids, sequence, width, init));
  x = dropout(net, layer_norm(net, "norm", x, 1e-12), ratio);
  for (std::int64_t i = 0; i < layers; ++i)
    x = bert_block(net, fmt::format("layer.{}", i), x, attention, mlp, ratio);
  Value* pooled = net.b().tanh(linear(net, "pooler", first_position(net, x), width, {true, &init}));
  net.output(linear(net, "classifier", dropout(net, pooled, ratio), m.classes(), {true, &init}),
             "logits");
}

// A tag for every token, from a recurrent net in both directions.
void make_lstm_tagger(Making& m) {
  const std::int64_t vocabulary = m.integer("vocab", 10000), width = m.integer("embedding", 128),
                     hidden = m.integer("hidden", 256), layers = m.integer("layers", 1);
  bool both = true;
  m.keys.boolean("bidirectional", both);
  Value* x = embedding(m.net, "tokens", m.field({"tokens"}, 1, true), vocabulary, width);
  for (std::int64_t i = 0; i < layers; ++i)
    x = lstm(m.net, fmt::format("lstm{}", i + 1), x, hidden, both);
  m.net.output(linear(m.net, "tags", x, m.classes()), "logits");
}

// Cheng et al. 2016 (arXiv 1606.07792): logit [n] = a linear model of all inputs, plus a deep net
// over the numbers and an embedding of each category. Categories share one table: category c of
// column k is row k * buckets + c.
void make_wide_and_deep(Making& m) {
  const std::int64_t buckets = m.integer("buckets", 1000), width = m.integer("embedding", 16);
  const auto hidden = m.integers("hidden", {256, 128, 64});
  const double ratio = m.share("dropout", 0);
  Net& net = m.net;
  Value *numbers = m.field({"numeric"}, 1), *ids = m.field({"categories"}, 1, true);
  bool normalizes = false;  // numbers of any scale
  m.keys.boolean("normalize", normalizes);
  if (normalizes) numbers = batch_norm(net, "numbers", numbers);
  const std::int64_t columns = size_of_axis(net, ids, 1);
  std::vector<std::int64_t> first;
  for (std::int64_t k = 0; k < columns; ++k) first.push_back(k * buckets);
  Value* rows =
      net.b().add(net.b().mod(ids, net.b().constant(Tensor::scalar(buckets))), net.b().ints(first));
  Value* deep = embedding(net, "deep.embedding", rows, buckets * columns, width, 0.01);
  deep = net.b().concat(net.b().reshape(deep, net.b().ints({0, columns * width})), numbers,
                        Attrs{{"axis", 1}});
  for (std::size_t i = 0; i < hidden.size(); ++i)
    deep = dropout(net, net.b().relu(linear(net, fmt::format("deep.fc{}", i + 1), deep, hidden[i])),
                   ratio);
  deep = linear(net, "deep.out", deep, 1);
  const Init zero = constant(0);
  Value* wide = net.b().gather(net.weight("wide.categories", {buckets * columns, 1}, zero), rows);
  wide = net.b().reduce_sum(wide, net.b().ints({1}), Attrs{{"keepdims", false}});
  wide = net.b().add(wide, linear(net, "wide.numbers", numbers, 1, {true, &zero}));
  net.output(net.b().squeeze(net.b().add(deep, wide), net.b().ints({1})), "logits");
}

}  // namespace tenon::models
