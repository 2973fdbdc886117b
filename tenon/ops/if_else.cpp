// if_else(condition, captures...; then, else): one of two regions.
#include "tenon/ops/control_flow.h"
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

// Both regions take all captures.
Result<Types> infer(const Call& c) {
  TENON_EXPECT(c.num_regions() == 2, "there are two regions");
  TENON_EXPECT(!c.in(0).ranked() || c.in(0).count().known().value_or(1) == 1,
               "condition has one element", c.in(0));
  const Types captures = input_types(c, 1, c.num_inputs());
  for (int i = 0; i < 2; ++i)
    TENON_TRY(infer_region(c, i, captures, input_numbers(1, c.num_inputs())));
  const auto &yes = c.region(0).outputs(), &no = c.region(1).outputs();
  if (yes.size() != no.size())
    return invalid("one region gives {} outputs and the other {}", yes.size(), no.size());
  Types out;
  for (std::size_t i = 0; i < yes.size(); ++i)
    out.push_back(TENON_TRY(cover(c, yes[i]->type(), no[i]->type(), fmt::format("output{}", i))));
  return out;
}

Result<Datums> eval(const EvalCall& e) {
  const bool yes = integer_element(e.in(0), 0) != 0;
  return e.run_region(e.call.region(yes ? 0 : 1), Datums(e.inputs.begin() + 1, e.inputs.end()));
}

// Each region by its own derivative, under the same condition.
Values gradient(B g, const Call& c, const Values& dys) {
  Values dxs(static_cast<std::size_t>(c.num_inputs()), nullptr);
  std::vector<bool> seeded, wanted;
  for (const Value* dy : dys) seeded.push_back(dy != nullptr);
  for (int i = 1; i < c.num_inputs(); ++i)
    wanted.push_back(c.has(i) && c.in(i).is_tensor() && is_floating(c.in(i).dtype()));
  std::vector<std::unique_ptr<Graph>> regions;
  for (int i = 0; i < 2; ++i) {
    auto d = g.builder().differentiate(c.region(i), seeded, wanted);
    if (!d.ok()) {
      g.builder().fail(std::move(d).error());
      return dxs;
    }
    regions.push_back(std::move(*d));
  }
  Values args = c.values();
  for (Value* dy : dys)
    if (dy) args.push_back(dy);
  const Values found = g.builder().call(c.op(), std::move(args), {}, std::move(regions));
  for (std::size_t i = 0, k = 0; i < wanted.size() && k < found.size(); ++i)
    if (wanted[i]) dxs[i + 1] = found[k++];
  return dxs;
}

// The dearer region counts.
Cost cost(const Call& c) {
  return {max(flops_of(c.region(0)), flops_of(c.region(1))), c.bytes_in(), c.bytes_out()};
}

}  // namespace

OpPage if_else() {
  return {
      .name = "if_else",
      .doc =
          "the outputs of the first region where condition holds, else of the second; both take "
          "the captures",
      .inputs = {{"condition", kBool, "C"}, {"captures", kAny, "", Arity::many, Holds::anything}},
      .outputs = {"outputs"},
      .traits = {Trait::control_flow},
      .infer = infer,
      .eval = eval,
      .decompose = none("core: no other operator chooses what runs"),
      .gradient = gradient,
      .cost = cost,
      .sharding = [](const Call& c) -> Result<Factors> { return all_whole(c); }};
}

}  // namespace tenon::ops
