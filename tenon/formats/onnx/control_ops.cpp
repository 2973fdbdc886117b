// If, Loop and Scan: regions with explicit captures.
#include <algorithm>

#include "tenon/formats/onnx/importer_internal.h"
#include "tenon/formats/onnx/region_internal.h"
#include "tenon/ops/registry.h"

namespace tenon::onnx {

HandRegion::HandRegion(Context& around, std::string name)
    : outer(around),
      graph(std::make_unique<Graph>(std::move(name))),
      builder(*graph, ops::table()),
      scope(*graph, builder, &around.scope()),
      c(around.importer(), scope, around.frame(), around.node(), around.row(), around.version(),
        {}) {}

Region HandRegion::finish() {
  Status status = builder.take_status();
  if (!status.ok()) outer.fail(std::move(status).error());
  return {std::move(graph), scope.captured};
}

namespace {

Values joined(Values a, const Values& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A condition that is known when the model is read (often the rank of an input) leaves one branch,
// in place.
Values known_branch(Context& c, bool holds) {
  c.ignore({"then_branch", "else_branch"});
  const GraphProto* g = c.graph(holds ? "then_branch" : "else_branch");
  if (!g) return c.fail(invalid("a branch is missing"));
  Scope body(c.scope().graph, c.scope().builder, &c.scope());
  return c.importer().import_body(*g, body, c.frame(), {}, c.scope().builder);
}

// Both branches take the same captures: the first branch's, then those that only the second needs.
Values if_else(Context& c) {
  if (const auto known = c.known_integers(c.in(0)); known && known->size() == 1)
    return known_branch(c, (*known)[0] != 0);
  Region then_branch = c.region("then_branch", {});
  Region else_branch = c.region("else_branch", {}, then_branch.captures);
  if (c.failed()) return c.fail(Error{});
  for (std::size_t i = then_branch.captures.size(); i < else_branch.captures.size(); ++i)
    then_branch.graph->add_input(else_branch.captures[i]->name(), else_branch.captures[i]->type());
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(then_branch.graph));
  regions.push_back(std::move(else_branch.graph));
  return c.all("if_else", joined({c.in(0)}, else_branch.captures), {}, c.num_outputs(),
               std::move(regions));
}

// ---- carried values whose size changes from turn to turn ----------------------------------------

// What a carried value is known to be while its body is converted: its rank, and the sizes that the
// file itself declares to stay. The page's own inference finds the rest; a conversion that looked
// at the first turn's sizes could be wrong in the second.
Type in_every_turn(const Type& initial, const GraphProto* body, std::size_t input, Graph& graph) {
  if (initial.is_sequence() && initial.element().is_tensor())
    return Type::sequence(Type::unranked(initial.dtype()));
  if (!initial.is_tensor() || !initial.ranked()) return initial;
  auto declared = body && input < body->inputs.size()
                      ? parse_type(body->inputs[input].type, "carried")
                      : Result<Type>(Type());
  const bool compares = declared.ok() && declared->is_tensor() && declared->ranked() &&
                        declared->ndim() == initial.ndim();
  Shape shape;
  for (int i = 0; i < initial.ndim(); ++i) {
    const bool stays =
        compares && declared->dim(i).is_constant() && declared->dim(i) == initial.dim(i);
    shape.push_back(stays ? initial.dim(i) : graph.fresh_symbol("carried"));
  }
  return Type(initial.dtype(), std::move(shape));
}

// A carried optional that the body gives back bare is wrapped again, so that every turn sees one
// type.
std::vector<bool> wrap_optionals(Region& body, const Types& types, std::size_t first,
                                 std::size_t count, std::size_t first_output) {
  std::vector<bool> wrapped(count, false);
  for (std::size_t i = 0; i < count && first_output + i < body.graph->outputs().size(); ++i) {
    Value* out = body.graph->outputs()[first_output + i];
    if (!types[first + i].is_optional() || out->type().is_optional() || !out->type().defined())
      continue;
    GraphBuilder builder(*body.graph, ops::table());
    body.graph->set_output(static_cast<int>(first_output + i),
                           builder.call(builder.op("optional"), {out})[0]);
    wrapped[i] = true;
  }
  return wrapped;
}

std::vector<std::unique_ptr<Graph>> one(std::unique_ptr<Graph> g) {
  std::vector<std::unique_ptr<Graph>> all;
  all.push_back(std::move(g));
  return all;
}

// Body inputs: iteration number, condition, carried values. Outputs: condition, carried values,
// scans.
Values loop(Context& c) {
  const int num_carried = std::max(0, c.num_inputs() - 2);
  Types types = {Type(DType::i64, {}), Type(DType::boolean, {})};
  Values inputs = {c.in(0), c.in(1)};
  for (int i = 0; i < num_carried; ++i) {
    if (!c.has(2 + i)) return c.fail(invalid("carried value {} is absent", i));
    inputs.push_back(c.in(2 + i));
    types.push_back(in_every_turn(c.in(2 + i)->type(), c.graph("body"),
                                  static_cast<std::size_t>(2 + i), c.scope().graph));
  }
  Region body = c.region("body", types);
  if (c.failed()) return c.fail(Error{});
  const auto wrapped = wrap_optionals(body, types, 2, static_cast<std::size_t>(num_carried), 1);
  Values outputs =
      c.all("loop", joined(std::move(inputs), body.captures), {{"num_carried", num_carried}},
            c.num_outputs(), one(std::move(body.graph)));
  for (std::size_t i = 0; i < wrapped.size(); ++i)
    if (wrapped[i]) outputs[i] = c.op("optional_get_element", {outputs[i]});
  return outputs;
}

// ---- Scan
// -----------------------------------------------------------------------------------------

Type without_axis(const Type& t, std::int64_t axis) {
  if (!t.is_tensor() || !t.ranked()) return t;
  Shape shape = t.shape();
  if (axis < 0) axis += t.ndim();
  if (axis >= 0 && axis < t.ndim()) shape.erase(shape.begin() + axis);
  return Type(t.dtype(), std::move(shape));
}

Values scan(Context& c);

// Version 8 has a batch in front of everything: a scan over the batch whose body scans the
// sequence.
Values scan_8(Context& c) {
  const int num_scans = static_cast<int>(c.integer("num_scan_inputs", 0)),
            total = c.num_inputs() - 1, num_states = total - num_scans;
  c.ignore({"body"});
  if (c.has(0)) return c.fail(unsupported("sequence_lens in version 8 of Scan"));
  if (num_scans < 1 || num_states < 0)
    return c.fail(invalid("num_scan_inputs is {} but {} values are given", num_scans, total));
  HandRegion batch(c, "batch");
  Types types;
  Values inner_inputs;
  for (int i = 0; i < total; ++i) {
    const Type one_sample = without_axis(c.in(1 + i)->type(), 0);
    inner_inputs.push_back(batch.input(fmt::format("x{}", i), one_sample));
    types.push_back(i < num_states ? one_sample : without_axis(one_sample, 0));
  }
  Region body = batch.c.region("body", types);
  if (batch.c.failed() || !body.graph) {
    batch.finish();
    return c.fail(Error{});
  }
  const int num_outputs = static_cast<int>(body.graph->outputs().size());
  Attrs attrs{{"num_states", num_states}, {"num_scan_inputs", num_scans}};
  if (c.has_attr("directions")) attrs.set("scan_input_directions", c.integers("directions"));
  const Values results = batch.c.all("scan", joined(std::move(inner_inputs), body.captures), attrs,
                                     num_outputs, one(std::move(body.graph)));
  for (int i = 0; i < num_outputs; ++i)
    batch.output(results[static_cast<std::size_t>(i)], fmt::format("y{}", i));
  Region outer = batch.finish();
  if (c.failed()) return c.fail(Error{});
  Values inputs(c.inputs().begin() + 1, c.inputs().end());
  return c.all("scan", joined(std::move(inputs), outer.captures),
               {{"num_states", 0}, {"num_scan_inputs", total}}, num_outputs,
               one(std::move(outer.graph)));
}

Values scan(Context& c) {
  if (c.version() < 9) return scan_8(c);
  const int num_scans = static_cast<int>(c.integer("num_scan_inputs", 0)),
            num_states = c.num_inputs() - num_scans;
  if (num_scans < 1 || num_states < 0)
    return c.fail(
        invalid("num_scan_inputs is {} but {} values are given", num_scans, c.num_inputs()));
  const auto axes = c.integers("scan_input_axes");
  Types types;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.has(i)) return c.fail(invalid("input {} is absent", i));
    const auto k = static_cast<std::size_t>(i - num_states);
    types.push_back(i < num_states ? in_every_turn(c.in(i)->type(), c.graph("body"),
                                                   static_cast<std::size_t>(i), c.scope().graph)
                                   : without_axis(c.in(i)->type(), k < axes.size() ? axes[k] : 0));
  }
  Region body = c.region("body", types);
  if (c.failed()) return c.fail(Error{});
  Attrs attrs{{"num_states", num_states}, {"num_scan_inputs", num_scans}};
  for (const char* list :
       {"scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"})
    if (c.has_attr(list)) attrs.set(list, c.integers(list));
  return c.all("scan", joined(c.inputs(), body.captures), std::move(attrs), c.num_outputs(),
               one(std::move(body.graph)));
}

}  // namespace

void add_control_rows(Rows& rows) {
  rows.push_back({.domain = "", .op_type = "If", .convert = if_else});
  rows.push_back({.domain = "", .op_type = "Loop", .convert = loop});
  rows.push_back({.domain = "", .op_type = "Scan", .convert = scan, .first = 8});
}

}  // namespace tenon::onnx
