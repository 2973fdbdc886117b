// einsum(xs...; equation): products and sums over named axes.
#include <map>

#include "tenon/ops/equations.h"

namespace tenon::ops {
namespace {

using Sizes = std::map<char, Dim>;

// The size of every letter; axes of size 1 broadcast.
Result<Sizes> sizes_of(const Call& c, const Equation& e) {
  Sizes sizes;
  for (std::size_t i = 0; i < e.inputs.size(); ++i)
    for (std::size_t a = 0; a < e.inputs[i].size(); ++a) {
      const Dim& d = c.in(static_cast<int>(i)).dim(static_cast<int>(a));
      auto [it, fresh] = sizes.try_emplace(e.inputs[i][a], d);
      if (fresh || d == Dim(1)) continue;
      if (it->second == Dim(1))
        it->second = d;
      else
        TENON_EXPECT_SAME(it->second, d, "axes of one letter have one size: the first == another");
    }
  return sizes;
}

Result<Types> infer(const Call& c) {
  TENON_EXPECT(c.num_inputs() >= 1, "there is an operand");
  for (int i = 0; i < c.num_inputs(); ++i)
    if (!c.in(i).ranked()) return Types{Type::unranked(c.in(0).dtype())};
  const Equation e = TENON_TRY(equation_of(c));
  const Sizes sizes = TENON_TRY(sizes_of(c, e));
  Shape out;
  for (char ch : e.output) out.push_back(sizes.at(ch));
  return Types{c.in(0).with_shape(out)};
}

// Steps of one tensor along every letter; 0 where it lacks the letter or broadcasts.
Dims steps_of(const std::string& term, const Dims& dims, const std::string& letters) {
  const Dims own = row_major_strides(dims);
  Dims steps(letters.size(), 0);
  for (std::size_t a = 0; a < term.size(); ++a)
    if (dims[a] != 1) steps[letters.find(term[a])] += own[a];
  return steps;
}

// Walks all letters, the last one innermost: y += product of the operands.
template <class W>
void accumulate(std::vector<W>& y, const std::vector<std::vector<W>>& xs, const Dims& sizes,
                const std::vector<Dims>& steps) {
  const std::size_t n = xs.size(), inner = sizes.size() - 1;  // steps[n] belongs to y
  const std::int64_t count = sizes[inner];
  Dims at(inner, 0), offset(n + 1, 0);
  const std::int64_t outer = num_elements(std::span(sizes).first(inner));
  for (std::int64_t k = 0; k < outer; ++k) {
    for (std::int64_t j = 0; j < count; ++j) {
      W product{1};
      for (std::size_t x = 0; x < n; ++x)
        product *= xs[x][static_cast<std::size_t>(offset[x] + j * steps[x][inner])];
      y[static_cast<std::size_t>(offset[n] + j * steps[n][inner])] += product;
    }
    for (std::size_t i = inner; i-- > 0;) {
      const bool wraps = ++at[i] == sizes[i];
      for (std::size_t x = 0; x <= n; ++x)
        offset[x] += wraps ? -steps[x][i] * (sizes[i] - 1) : steps[x][i];
      if (!wraps) break;
      at[i] = 0;
    }
  }
}

template <class W>
Tensor sum_products(const EvalCall& e, const Equation& eq, const Dims& sizes, const Dims& out) {
  const std::string letters = eq.letters() + ' ';  // the blank is an innermost axis of size 1
  std::vector<std::vector<W>> xs;
  std::vector<Dims> steps;
  for (std::size_t i = 0; i < eq.inputs.size(); ++i) {
    xs.push_back(wide<W>(e.in(static_cast<int>(i))));
    steps.push_back(steps_of(eq.inputs[i], e.in(static_cast<int>(i)).dims(), letters));
  }
  steps.push_back(steps_of(eq.output, out, letters));
  std::vector<W> y(static_cast<std::size_t>(num_elements(out)), W{0});
  Dims all = sizes;
  if (all.empty()) all.push_back(1);
  for (Dims& s : steps) s.resize(all.size());
  if (num_elements(all) > 0) accumulate(y, xs, all, steps);
  return narrow(y, e.in(0).dtype(), out);
}

Result<Datums> eval(const EvalCall& e) {
  const Equation eq = TENON_TRY(equation_of(e.call));
  const Sizes sizes = TENON_TRY(sizes_of(e.call, eq));
  Dims all, out;
  for (char ch : eq.letters()) all.push_back(sizes.at(ch).value());
  for (char ch : eq.output) out.push_back(sizes.at(ch).value());
  return visit_wide(e.in(0).dtype(), [&](auto w) {
    return Datums{Datum(sum_products<decltype(w)>(e, eq, all, out))};
  });
}

Values decompose(B g, const Call& c) { return {contract_all(g, *equation_of(c), c.values())}; }

// Gives an operand with repeated letters its axes back: zero outside of the diagonal.
Value* off_diagonal(B g, Value* dx, const std::string& term, Value* x) {
  Equation e{{distinct(term)}, ""};
  Values operands = {dx};
  char fresh = '!';  // no letter of an equation
  for (std::size_t a = 0; a < term.size(); ++a) {
    const bool repeats = term.find(term[a]) != a;
    e.output += repeats ? fresh : term[a];
    if (!repeats) continue;
    const auto n = x->type().dim(static_cast<int>(a)).known();
    if (!n) {
      g.builder().fail(unsupported("einsum: the gradient of a diagonal of unknown size"));
      return dx;
    }
    std::vector<double> eye(static_cast<std::size_t>(*n * *n), 0);
    for (std::int64_t d = 0; d < *n; ++d) eye[static_cast<std::size_t>(d * (*n + 1))] = 1;
    operands.push_back(g.constant(from_doubles(eye, x->type().dtype(), {*n, *n})));
    e.inputs.push_back({term[a], fresh++});
  }
  return contract_all(g, e, operands);
}

// d operand = einsum of dy and the other operands, spread along axes that nothing else has.
Values gradient(B g, const Call& c, const Values& dys) {
  const Equation e = *equation_of(c);
  Values dxs;
  for (std::size_t i = 0; i < e.inputs.size(); ++i) {
    Value* x = c.value(static_cast<int>(i));
    Values operands = {dys[0]};
    for (std::size_t k = 0; k < e.inputs.size(); ++k)
      if (k != i) operands.push_back(c.value(static_cast<int>(k)));
    Shape lonely;
    for (char ch : lonely_letters(e, i))
      lonely.push_back(x->type().dim(static_cast<int>(e.inputs[i].find(ch))));
    if (!lonely.empty()) operands.push_back(g.expand(g.number(1, x), g.dims_value(lonely, x)));
    Value* dx = contract_all(g, gradient_equation(e, i), operands);
    if (distinct(e.inputs[i]) != e.inputs[i]) dx = off_diagonal(g, dx, e.inputs[i], x);
    dxs.push_back(g.sum_to(dx, x));
  }
  return dxs;
}

Cost cost(const Call& c) {
  auto e = equation_of(c);
  Dim products(c.num_inputs());
  if (e.ok())
    if (auto sizes = sizes_of(c, *e); sizes.ok())
      for (const auto& [letter, size] : *sizes) products *= size;
  return {products, c.bytes_in(), c.bytes_out()};
}

// Every letter is a factor, except where an axis repeats within an operand or broadcasts.
Result<Factors> sharding(const Call& c) {
  const Equation e = TENON_TRY(equation_of(c));
  Factors f;
  for (std::size_t i = 0; i < e.inputs.size(); ++i) {
    std::vector<std::string> names;
    for (std::size_t a = 0; a < e.inputs[i].size(); ++a) {
      const char ch = e.inputs[i][a];
      names.emplace_back(
          c.in(static_cast<int>(i)).dim(static_cast<int>(a)) == Dim(1) ? "" : std::string(1, ch));
      if (e.inputs[i].find(ch) != a) f.whole_factors.emplace_back(1, ch);
    }
    f.inputs.push_back(names);
  }
  f.outputs.emplace_back();
  for (std::size_t a = 0; a < e.output.size(); ++a)
    f.outputs[0].push_back(
        c.out(0).dim(static_cast<int>(a)) == Dim(1) ? "" : std::string(1, e.output[a]));
  // An operand that lacks a summed letter still counts once for each part: the products add up.
  return f;
}

Sample with_equation(std::vector<Dims> dims, const char* equation) {
  return sample(std::move(dims)).with({{"equation", equation}});
}

}  // namespace

OpPage einsum() {
  return {.name = "einsum",
          .doc =
              "sum over the letters that the result lacks of the product of the operands, axes "
              "named by `equation` (\"bij, bjk -> bik\"); '...' broadcasts",
          .inputs = {many("xs", kNumeric)},
          .attrs = {AttrSpec::required("equation", Attr::Kind::text)},
          .traits = {Trait::contraction},
          .infer = infer,
          .eval = eval,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost,
          .sharding = sharding,
          .samples = {
              with_equation({{2, 3, 4}, {2, 4, 5}}, "bij, bjk -> bik"),
              with_equation({{4, 3}}, "ij->ji"), with_equation({{4, 3}}, "ij->i"),
              with_equation({{4}, {4}}, "i,i"), with_equation({{2, 3, 3}}, "...ii->...i"),
              with_equation({{3, 3}}, "ii"), with_equation({{}}, "->"),
              with_equation({{2, 3, 4}, {1, 4, 5}}, "...ij,...jk"),
              with_equation({{2, 3, 4}, {4, 5}}, "...ij,...jk"),
              with_equation({{2, 3}, {4, 3}, {2, 4, 5}}, "ac,bc,abd->dc"),
              with_equation({{2, 4, 3}, {2, 4, 5}}, "bnh,bnk->bhk"),
              with_equation({{2, 3}, {4}}, "ij,k->kj"), with_equation({{1, 3}, {2, 3}}, "ij,ij->i"),
              with_equation({{4, 2}, {2, 4}}, "ij,ji").all(DType::i32).range(-5, 5),
              rejects({{2, 3}}, "does not fit 2 axes").with({{"equation", "ijk->i"}}),
              rejects({{2, 3}}, "is in no operand").with({{"equation", "ij->k"}}),
              rejects({{2, 3}, {4, 5}}, "have one size").with({{"equation", "ij,jk"}}),
              rejects({{2}}, "has 2 operands but 1 are given").with({{"equation", "i,i"}})}};
}

}  // namespace tenon::ops
