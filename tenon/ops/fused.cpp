// fused(xs...; region): several operators as one node; the region is the meaning.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

// The region infers itself again on these operands, so that concrete sizes reach its results.
Result<Types> infer(const Call& c) {
  TENON_EXPECT(c.num_regions() == 1, "a fused node has one region");
  auto region = c.region(0).clone();
  TENON_EXPECT(static_cast<int>(region->inputs().size()) == c.num_inputs(),
               "region.inputs == inputs");
  for (int i = 0; i < c.num_inputs(); ++i)
    region->inputs()[static_cast<std::size_t>(i)]->set_type(c.in(i));
  TENON_TRY(infer_all(*region));
  Types types;
  for (const Value* v : region->outputs()) types.push_back(v->type());
  return types;
}

Result<Datums> eval(const EvalCall& e) { return e.run_region(e.call.region(0), e.inputs); }

// The parts again, outside of the region.
Values decompose(B g, const Call& c) {
  std::map<const Value*, Value*> map;
  const Graph& region = c.region(0);
  for (int i = 0; i < c.num_inputs(); ++i)
    map[region.inputs()[static_cast<std::size_t>(i)]] = c.value(i);
  for (const Value* v : region.constants()) map[v] = g.constant(v->tensor());
  for (const Node* n : region.nodes()) {
    Values args;
    for (const Value* v : n->inputs()) args.push_back(v ? map.at(v) : nullptr);
    std::vector<std::unique_ptr<Graph>> regions;
    for (const auto& r : n->regions()) regions.push_back(r->clone());
    const Values out = g.builder().call(n->op(), std::move(args), n->attrs(), std::move(regions),
                                        static_cast<int>(n->outputs().size()));
    for (std::size_t i = 0; i < out.size() && i < n->outputs().size(); ++i)
      map[n->outputs()[i]] = out[i];
  }
  Values results;
  for (const Value* v : region.outputs()) results.push_back(map.at(v));
  return results;
}

Cost cost(const Call& c) {
  Dim flops(0);
  for (const Node* n : c.region(0).nodes())
    if (n->op().cost) flops += n->op().cost(Call(*n)).flops;
  return {flops, c.bytes_in(), c.bytes_out()};
}

}  // namespace

OpPage fused() {
  return {
      .name = "fused",
      .doc =
          "the operators of its region, run as one kernel; made by fusion passes, never by models",
      .inputs = {{"xs", kAny, "", Arity::many, Holds::anything}},
      .traits = {Trait::control_flow},
      .infer = infer,
      .eval = eval,
      .decompose = decompose,
      .gradient = none("made after differentiation"),
      .cost = cost,
      .sharding = none("made after partitioning")};
}

}  // namespace tenon::ops
