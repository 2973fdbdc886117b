// Update rules. In comments: w weight, g gradient, m and v moments, lr the rate, wd weight decay.
#include "tenon/train/optimizer.h"

#include <algorithm>

namespace tenon::train {
namespace {

using ops::B;
using Kind = Optimizer::Kind;

const std::vector<std::string> kNames = {"sgd", "adam", "adamw", "lamb", "adafactor", "lion"};

struct Rule {
  B b;
  const Optimizer& o;
  const StepScalars& s;

  Value* number(double v) { return b.number(v, DType::f32); }
  Value* scaled(Value* x, double by) { return by == 1 ? x : b.mul(x, number(by)); }
  // decay * old + (1 - decay) * fresh
  Value* mixed(Value* old, Value* fresh, double decay) {
    return b.add(scaled(old, decay), scaled(fresh, 1 - decay));
  }
  double decay_of(const Value* w) const {
    return o.decays_vectors || w->type().ndim() >= 2 ? o.weight_decay : 0;
  }
  // w (1 - lr wd)
  Value* decayed(Value* w) {
    const double decay = decay_of(w);
    if (decay == 0) return w;
    return b.mul(w, b.sub(number(1), scaled(s.rate, decay)));
  }
  Value* norm(Value* x) { return b.sqrt(b.reduce_sum(b.mul(x, x), Attrs{{"keepdims", false}})); }
  // sqrt(mean of x^2)
  Value* rms(Value* x) { return b.sqrt(b.reduce_mean(b.mul(x, x), Attrs{{"keepdims", false}})); }

  Values sgd(Value* w, Value* g, const Values& states) {
    if (const double decay = decay_of(w)) g = b.add(g, scaled(w, decay));
    if (o.momentum == 0) return {b.sub(w, b.mul(s.rate, g))};
    Value* m = b.add(scaled(states[0], o.momentum), g);
    Value* step = o.nesterov ? b.add(g, scaled(m, o.momentum)) : m;
    return {b.sub(w, b.mul(s.rate, step)), m};
  }

  // m / (sqrt(v / bias2) + epsilon)
  Value* direction(Value* m, Value* v) {
    return b.div(m, b.add(b.div(b.sqrt(v), b.sqrt(s.bias2)), number(o.epsilon)));
  }

  Values adam(Value* w, Value* g, const Values& states) {
    if (const double decay = decay_of(w); o.kind == Kind::adam && decay != 0)
      g = b.add(g, scaled(w, decay));
    Value *m = mixed(states[0], g, o.beta1), *v = mixed(states[1], b.mul(g, g), o.beta2);
    Value* base = o.kind == Kind::adamw ? decayed(w) : w;
    return {b.sub(base, b.mul(b.div(s.rate, s.bias1), direction(m, v))), m, v};
  }

  // Steps as long as the weight is: lr |w| / |r|, or lr where one of them is 0.
  Values lamb(Value* w, Value* g, const Values& states) {
    Value *m = mixed(states[0], g, o.beta1), *v = mixed(states[1], b.mul(g, g), o.beta2);
    Value* r = b.div(direction(m, v), s.bias1);
    if (const double decay = decay_of(w)) r = b.add(r, scaled(w, decay));
    Value *wn = norm(w), *rn = norm(r), *zero = number(0), *one = number(1);
    Value* usable = b.logical_and(b.greater(wn, zero), b.greater(rn, zero));
    Value* trust = b.where(usable, b.div(wn, b.where(usable, rn, one)), one);
    return {b.sub(w, b.mul(b.mul(s.rate, trust), r)), m, v};
  }

  Values lion(Value* w, Value* g, const Values& states) {
    Value* u = b.sign(mixed(states[0], g, o.beta1));
    return {b.sub(decayed(w), b.mul(s.rate, u)), mixed(states[0], g, o.beta2)};
  }

  // Second moments of a matrix as those of its rows times those of its columns.
  Values adafactor(Value* w, Value* g, const Values& states) {
    constexpr double kTiny =
        1.1920928955078125e-07;  // f32's epsilon, below which nothing is divided
    Value *one = number(1), *fresh = b.pow(s.count, number(-0.8)), *old = b.sub(one, fresh);
    const auto mix = [&](Value* state, Value* x) {
      return b.add(b.mul(old, state), b.mul(fresh, x));
    };
    Value* squares = b.mul(g, g);
    Values out;
    Value* estimate = nullptr;
    if (w->type().ndim() >= 2) {
      const std::int64_t last = w->type().ndim() - 1;
      Value* rows = mix(states[0], b.reduce_mean(squares, b.ints({last})));
      Value* columns = mix(states[1], b.reduce_mean(squares, b.ints({last - 1})));
      Value* mean = b.max(b.reduce_mean(rows, b.ints({last - 1})), number(kTiny));
      estimate = b.div(b.mul(rows, columns), mean);
      out = {rows, columns};
    } else {
      estimate = mix(states[0], squares);
      out = {estimate};
    }
    Value* u = b.mul(g, b.rsqrt(b.max(estimate, number(kTiny * kTiny))));
    Value* rate = b.min(s.rate, b.rsqrt(s.count));
    Value* length = b.mul(b.max(rms(w), number(1e-3)), rate);
    Value* now = b.sub(decayed(w), b.mul(b.div(length, b.max(one, rms(u))), u));
    out.insert(out.begin(), now);
    return out;
  }
};

}  // namespace

std::vector<StateSpec> optimizer_states(const Optimizer& o, const Dims& dims) {
  switch (o.kind) {
    case Kind::sgd:
      return o.momentum == 0 ? std::vector<StateSpec>{}
                             : std::vector<StateSpec>{{"momentum", dims}};
    case Kind::lion: return {{"momentum", dims}};
    case Kind::adam:
    case Kind::adamw:
    case Kind::lamb: return {{"mean", dims}, {"square", dims}};
    case Kind::adafactor: break;
  }
  if (dims.size() < 2) return {{"square", dims}};
  Dims rows = dims, columns = dims;
  rows[dims.size() - 1] = columns[dims.size() - 2] = 1;
  return {{"row_square", rows}, {"column_square", columns}};
}

StepScalars step_scalars(B b, const Optimizer& o, Value* rate, Value* step) {
  StepScalars s;
  s.rate = rate;
  if (!o.uses_count()) return s;
  // Powers close to 1 want double precision; PyTorch computes them so, too.
  Value *count = b.cast_to(step, DType::f64), *one = b.number(1, DType::f64);
  const auto bias = [&](double beta) {
    return b.cast_to(b.sub(one, b.pow(b.number(beta, DType::f64), count)), DType::f32);
  };
  s.count = b.cast_to(count, DType::f32);
  if (o.kind != Kind::adafactor) s.bias1 = bias(o.beta1), s.bias2 = bias(o.beta2);
  return s;
}

Values updated(B b, const Optimizer& o, const StepScalars& scalars, Value* w, Value* g,
               const Values& states) {
  Rule rule{b, o, scalars};
  switch (o.kind) {
    case Kind::sgd: return rule.sgd(w, g, states);
    case Kind::adam:
    case Kind::adamw: return rule.adam(w, g, states);
    case Kind::lamb: return rule.lamb(w, g, states);
    case Kind::adafactor: return rule.adafactor(w, g, states);
    case Kind::lion: return rule.lion(w, g, states);
  }
  return {};
}

namespace {

// Defaults that differ from kind to kind.
Optimizer defaults_of(Kind kind) {
  Optimizer o;
  o.kind = kind;
  if (kind == Kind::adam || kind == Kind::adamw || kind == Kind::lamb) o.learning_rate = 1e-3;
  if (kind == Kind::adamw) o.weight_decay = 0.01;
  if (kind == Kind::lamb) o.epsilon = 1e-6;
  if (kind == Kind::lion) o.learning_rate = 1e-4, o.beta2 = 0.99;
  return o;
}

}  // namespace

Optimizer read_optimizer(ObjectReader& keys) {
  int kind = 0;
  keys.choice("kind", kNames, kind);
  Optimizer o = defaults_of(static_cast<Kind>(kind));
  keys.number("learning_rate", o.learning_rate, 0, 1e6);
  keys.number("weight_decay", o.weight_decay, 0, 1e6);
  keys.boolean("decay_vectors", o.decays_vectors);
  keys.number("clip_norm", o.clip_norm, 0);
  keys.number("ema", o.ema, 0, 1);
  keys.number("momentum", o.momentum, 0, 1);
  keys.boolean("nesterov", o.nesterov);
  keys.number("beta1", o.beta1, 0, 1);
  keys.number("beta2", o.beta2, 0, 1);
  keys.number("epsilon", o.epsilon, 0, 1);
  return o;
}

Json to_json(const Optimizer& o) {
  return {{"kind", kNames[static_cast<std::size_t>(o.kind)]},
          {"learning_rate", o.learning_rate},
          {"weight_decay", o.weight_decay},
          {"decay_vectors", o.decays_vectors},
          {"clip_norm", o.clip_norm},
          {"ema", o.ema},
          {"momentum", o.momentum},
          {"nesterov", o.nesterov},
          {"beta1", o.beta1},
          {"beta2", o.beta2},
          {"epsilon", o.epsilon}};
}

}  // namespace tenon::train
