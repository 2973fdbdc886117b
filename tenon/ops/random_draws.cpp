// Uniform and normal numbers by counter.
#include "tenon/ops/random_draws.h"

#include "tenon/base/random.h"

namespace tenon::ops {
namespace {

// The seed chooses the generator, the key its stream.
CounterRandom generator(const EvalCall& e, int key_input) {
  const std::int64_t key = e.has(key_input) ? integers(e.in(key_input)).at(0) : 0;
  return CounterRandom(static_cast<std::uint64_t>(e.call.integer("seed")),
                       static_cast<std::uint64_t>(key));
}

DType type_of_like(const Call& c) {
  return c.has_attr("dtype") ? c.dtype("dtype") : c.in(0).dtype();
}

Result<Types> infer_like(const Call& c) {
  const DType dtype = type_of_like(c);
  TENON_EXPECT(is_floating(dtype), fmt::format("numbers of {} are drawn:", name(dtype)), c.in(0));
  return Types{c.in(0).ranked() ? Type(dtype, c.in(0).shape()) : Type::unranked(dtype)};
}

Result<Types> infer_shaped(const Call& c) {
  Shape shape;
  for (std::int64_t d : c.integers("shape")) {
    if (d < 0) return invalid("a size of the shape is {}", d);
    shape.emplace_back(d);
  }
  return Types{Type(c.dtype("dtype"), std::move(shape))};
}

// low + (high - low) u with u in [0, 1), or mean + scale n, rounded once to `dtype`.
Tensor draw(const EvalCall& e, int key_input, Distribution distribution, DType dtype, Dims dims) {
  const bool is_normal = distribution == Distribution::normal;
  const double start = is_normal ? e.call.real("mean") : e.call.real("low");
  const double width = is_normal ? e.call.real("scale") : e.call.real("high") - start;
  CounterRandom random = generator(e, key_input);
  std::vector<double> out(static_cast<std::size_t>(num_elements(dims)));
  for (std::size_t k = 0; k < out.size();
       ++k) {  // f32 and smaller: one number each, as fill_uniform gives them
    const bool takes_two = is_normal || dtype == DType::f64;
    random.seek(takes_two ? 2 * k : k);
    out[k] = start + width * (is_normal   ? random.normal()
                              : takes_two ? random.uniform_double()
                                          : static_cast<double>(random.uniform()));
  }
  return from_doubles(out, dtype, std::move(dims));
}

// About ten rounds of two multiplications a number.
Cost cost(const Call& c) { return {c.out(0).count() * Dim(20), Dim(0), c.bytes_out()}; }

// The shape stands in an attribute: every peer draws the whole.
Result<Factors> sharding_shaped(const Call& c) {
  Factors f;
  f.inputs.resize(static_cast<std::size_t>(c.num_inputs()));
  f.outputs = {std::vector<std::string>(static_cast<std::size_t>(c.out(0).ndim()), "")};
  return f;
}

// The same numbers as those like a tensor of that shape.
Value* draw_through_like(B g, const Call& c, Distribution distribution) {
  Attrs attrs = c.node().attrs();
  attrs.erase("shape");
  attrs.set("dtype", c.dtype("dtype"));
  Value* pattern = g.expand(g.number(0, c.dtype("dtype")), g.ints(c.integers("shape")));
  if (distribution == Distribution::normal) return g.random_normal_like(pattern, c.value(0), attrs);
  return g.random_uniform_like(pattern, c.value(0), attrs);
}

OpPage page(std::string_view name, std::string_view doc, Distribution distribution) {
  OpPage p;
  p.name = name;
  p.doc = doc;
  p.attrs = draw_attrs(distribution);
  p.traits = {Trait::random};
  p.decompose = none("core");
  p.cost = cost;
  return p;
}

}  // namespace

double uniform_double(const EvalCall& e, int key_input, std::uint64_t k) {
  CounterRandom random = generator(e, key_input);
  random.seek(2 * k);
  return random.uniform_double();
}

std::vector<AttrSpec> draw_attrs(Distribution distribution) {
  if (distribution == Distribution::normal) return {{"mean", 0.0}, {"scale", 1.0}, {"seed", 0}};
  return {{"low", 0.0}, {"high", 1.0}, {"seed", 0}};
}

OpPage draw_like(std::string_view name, std::string_view doc, Distribution distribution) {
  OpPage p = page(name, doc, distribution);
  p.inputs = {{"x", kAny}, key_input()};
  p.attrs.push_back(AttrSpec::optional("dtype", Attr::Kind::dtype));
  p.infer = infer_like;
  p.eval = [distribution](const EvalCall& e) {
    return Result<Datums>(
        Datums{Datum(draw(e, 1, distribution, type_of_like(e.call), e.in(0).dims()))});
  };
  // y depends on x's shape only
  p.gradient = [](Builder&, const Call& c, const Values&) {
    return Values(static_cast<std::size_t>(c.num_inputs()), nullptr);
  };
  p.sharding = sharding_elementwise;
  p.samples = {sample({{2, 3}}),
               sample({{2, 4}}).all(DType::i32).with({{"dtype", DType::f16}, {"seed", 7}}),
               sample({{4}, {}}).given(1, Tensor::scalar<std::int64_t>(5)), sample({{0}}),
               rejects({{2}}, "numbers of i32").with({{"dtype", DType::i32}})};
  return p;
}

OpPage draw_shaped(std::string_view name, std::string_view doc, Distribution distribution) {
  OpPage p = page(name, doc, distribution);
  p.inputs = {key_input()};
  p.attrs.push_back(AttrSpec::required("shape", Attr::Kind::integers));
  p.attrs.emplace_back("dtype", DType::f32);
  p.infer = infer_shaped;
  p.decompose = [distribution](B g, const Call& c) {
    return Values{draw_through_like(g, c, distribution)};
  };
  p.gradient = none("no input is a real number");
  p.cost = cost_of_decomposition;
  p.sharding = sharding_shaped;
  const auto shape = [](std::vector<std::int64_t> v) { return Attr(std::move(v)); };
  p.samples = {sample({}).with({{"shape", shape({2, 3})}}),
               sample({}).with({{"shape", shape({})}, {"dtype", DType::f64}, {"seed", 3}}),
               sample({{}})
                   .given(0, Tensor::scalar<std::int64_t>(5))
                   .with({{"shape", shape({4})}, {"dtype", DType::bf16}}),
               rejects({}, "size of the shape is -1").with({{"shape", shape({2, -1})}})};
  return p;
}

}  // namespace tenon::ops
