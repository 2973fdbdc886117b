// Losses through operators, in f32.
#include "tenon/train/loss.h"

namespace tenon::train {
namespace {

using ops::B;
using Kind = Loss::Kind;

const std::vector<std::string> kNames = {"automatic", "cross_entropy", "binary_cross_entropy",
                                         "mean_squared", "detection"};
const Attrs kWhole = {{"keepdims", false}};

Value* f32(B b, Value* x) { return b.cast_to(x, DType::f32); }
Value* number(B b, double v) { return b.number(v, DType::f32); }

// max(x, 0) - x t + log(1 + e^-|x|): the logarithm of a sigmoid without its overflow
Value* logistic(B b, Value* x, Value* t) {
  return b.add(b.sub(b.relu(x), b.mul(x, t)), b.log1p(b.exp(b.neg(b.abs(x)))));
}

// Targets whose logit no other class exceeds; those of ignore_index have no such class.
Value* correct_answers(B b, const Loss& loss, Value* logits, Value* target) {
  const std::int64_t classes = (*constant_dims({logits->type().dim(-1)}))[0];
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < classes; ++i) all.push_back(i);
  Value* is_target =
      b.equal(b.unsqueeze(target, b.ints({1})), b.cast_to(b.ints(all), target->type().dtype()));
  Value* picked = b.reduce_sum(b.masked(is_target, logits), b.ints({1}), kWhole);
  Value* right = b.greater_equal(picked, b.reduce_max(logits, b.ints({1}), kWhole));
  Value* live =
      b.not_equal(target, b.constant(from_int64s(std::vector<std::int64_t>{loss.ignore_index},
                                                 target->type().dtype(), {})));
  return b.reduce_sum(f32(b, b.logical_and(right, live)), kWhole);
}

LossValues cross_entropy(B b, const Loss& loss, Value* logits, Value* target) {
  const bool is_sequence = logits->type().ndim() == 3;
  if (is_sequence) {
    const std::int64_t classes = (*constant_dims({logits->type().dim(-1)}))[0];
    logits = b.reshape(logits, b.ints({-1, classes}));
    target = b.reshape(target, b.ints({-1}));
  }
  logits = f32(b, logits);
  LossValues out;
  const Attrs attrs = {{"ignore_index", loss.ignore_index}};
  out.mean = b.softmax_cross_entropy(logits, target, attrs);
  if (loss.smoothing > 0) {
    Value* even = b.neg(b.reduce_mean(b.log_softmax(logits, Attrs{{"axis", 1}}), kWhole));
    out.mean = b.add(b.mul(out.mean, number(b, 1 - loss.smoothing)),
                     b.mul(even, number(b, loss.smoothing)));
  }
  Value* live =
      b.not_equal(target, b.constant(from_int64s(std::vector<std::int64_t>{loss.ignore_index},
                                                 target->type().dtype(), {})));
  out.count = b.reduce_sum(f32(b, live), kWhole);
  out.correct = correct_answers(b, loss, b.stop_gradient(logits), target);
  return out;
}

LossValues binary(B b, Value* logits, Value* target) {
  Value *x = f32(b, logits), *t = f32(b, target), *half = number(b, 0.5), *zero = number(b, 0);
  LossValues out;
  out.mean = b.reduce_mean(logistic(b, x, t), kWhole);
  Value* right = b.equal(b.greater(x, zero), b.greater(t, half));
  out.correct = b.reduce_sum(f32(b, right), kWhole);
  out.count = b.reduce_sum(b.add(b.mul(t, zero), number(b, 1)), kWhole);
  return out;
}

LossValues squared(B b, Value* x, Value* target) {
  Value* d = b.sub(f32(b, x), f32(b, target));
  LossValues out;
  out.mean = b.reduce_mean(b.mul(d, d), kWhole);
  out.count = b.reduce_sum(b.add(b.mul(f32(b, target), number(b, 0)), number(b, 1)), kWhole);
  return out;
}

// Columns [from, to) of the last of three axes.
Value* columns(B b, Value* x, std::int64_t from, std::int64_t to) {
  return b.slice(x, b.ints({from}), b.ints({to}), b.ints({2}));
}

// Objectness everywhere (empty cells at half weight); centre, size and class where there is an
// object. Averaged over pictures. Source: Redmon et al. 2015, section 2.2, with logistic losses.
LossValues detection(B b, Value* x, Value* target) {
  const std::int64_t width = (*constant_dims({x->type().dim(-1)}))[0];
  Value *there = columns(b, target, 0, 1), *half = number(b, 0.5);
  Value* weight = b.add(half, b.mul(half, there));
  Value* object = b.mul(weight, logistic(b, columns(b, x, 0, 1), there));
  Value* d = b.sub(b.sigmoid(columns(b, x, 1, 5)), columns(b, target, 1, 5));
  Value* place = b.mul(b.mul(there, number(b, 5)), b.mul(d, d));
  Value* kinds = b.mul(there, logistic(b, columns(b, x, 5, width), columns(b, target, 5, width)));
  const auto total = [&](Value* v) {
    return b.reduce_sum(b.reduce_sum(v, b.ints({1, 2}), kWhole), kWhole);
  };
  LossValues out;
  Value* one = b.add(b.mul(columns(b, columns(b, target, 0, 1), 0, 1), number(b, 0)), number(b, 1));
  // Pictures: every cell counts 1, of which there are as many as the second axis has.
  const std::int64_t cells = (*constant_dims({x->type().dim(1)}))[0];
  out.count = b.mul(b.reduce_sum(one, kWhole), number(b, 1.0 / static_cast<double>(cells)));
  out.mean = b.div(b.add(b.add(total(object), total(place)), total(kinds)), out.count);
  return out;
}

Kind chosen(const Loss& loss, const Value* answer, const Value* target) {
  if (loss.kind != Kind::automatic) return loss.kind;
  if (is_integer(target->type().dtype())) return Kind::cross_entropy;
  return answer->type().ndim() == 1 ? Kind::binary_cross_entropy : Kind::mean_squared;
}

}  // namespace

Result<LossValues> attach_loss(B b, const Loss& loss, Value* answer, Value* target) {
  const Type &a = answer->type(), &t = target->type();
  if (!a.is_tensor() || !a.ranked() || a.ndim() < 1)
    return invalid("the model's answer is {}, which no loss takes", a.text());
  const Kind kind = chosen(loss, answer, target);
  const bool takes_classes = kind == Kind::cross_entropy;
  if (takes_classes && (!is_integer(t.dtype()) || a.ndim() != t.ndim() + 1 || a.ndim() > 3))
    return invalid(
        "cross_entropy wants logits [n, classes] with targets i64 [n], or [n, t, classes] with [n, "
        "t], but they are {} and {}",
        a.text(), t.text());
  if ((takes_classes || kind == Kind::detection) && !constant_dims({a.dim(-1)}))
    return invalid("the number of classes of {} is not known", a.text());
  if (!takes_classes && (a.ndim() != t.ndim() || !is_floating(t.dtype())))
    return invalid("the loss {} wants targets like the answer {}, but they are {}",
                   kNames[static_cast<std::size_t>(kind)], a.text(), t.text());
  LossValues values = takes_classes                        ? cross_entropy(b, loss, answer, target)
                      : kind == Kind::binary_cross_entropy ? binary(b, answer, target)
                      : kind == Kind::detection            ? detection(b, answer, target)
                                                           : squared(b, answer, target);
  TENON_TRY(Status(static_cast<GraphBuilder&>(b.builder()).take_status()));
  return values;
}

Loss read_loss(ObjectReader& keys) {
  Loss loss;
  int kind = 0;
  keys.choice("loss", kNames, kind);
  loss.kind = static_cast<Kind>(kind);
  keys.number("label_smoothing", loss.smoothing, 0, 0.999);
  keys.integer("ignore_index", loss.ignore_index, -(std::int64_t{1} << 40));
  return loss;
}

Json to_json(const Loss& loss) {
  return {{"loss", kNames[static_cast<std::size_t>(loss.kind)]},
          {"label_smoothing", loss.smoothing},
          {"ignore_index", loss.ignore_index}};
}

}  // namespace tenon::train
