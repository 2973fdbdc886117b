// Sequences and optionals.
#include "tenon/formats/onnx/importer_internal.h"
#include "tenon/formats/onnx/region_internal.h"

namespace tenon::onnx {
namespace {

Values sequence_empty(Context& c) {
  return {c.op("sequence_empty", {}, {{"dtype", c.element_type("dtype", DType::f32)}})};
}

Values split_to_sequence(Context& c) {
  return {c.op("split_to_sequence", c.inputs(),
               {{"axis", c.integer("axis", 0)}, {"keepdims", c.flag("keepdims", true)}})};
}

Values concat_from_sequence(Context& c) {
  return {c.op("concat_from_sequence", {c.in(0)},
               {{"axis", c.integer("axis", 0)}, {"new_axis", c.flag("new_axis", false)}})};
}

// An absent optional needs its type in text, since attributes of nodes hold no types.
Values optional(Context& c) {
  const Type type = c.type("type");
  if (c.has(0)) return {c.op("optional", {c.in(0)})};
  if (!type.defined()) return c.fail(invalid("neither an input nor the attribute type is given"));
  return {c.op("optional", {}, {{"type", type.text()}})};
}

// Since opset 18 both also take what is no optional, and has_element may have no input at all.
Values has_element(Context& c) {
  if (!c.has(0)) return {c.constant(Tensor::full(DType::boolean, {}, 0))};
  if (!c.in(0)->type().is_optional()) return {c.constant(Tensor::full(DType::boolean, {}, 1))};
  return {c.op("optional_has_element", {c.in(0)})};
}

Values get_element(Context& c) {
  if (!c.has(0)) return c.fail(invalid("the input is absent"));
  if (!c.in(0)->type().is_optional()) return {c.in(0)};
  return {c.op("optional_get_element", {c.in(0)})};
}

// SequenceMap: a loop over positions whose body takes one element of every sequence and appends
// each result to a sequence that it carries.
Values sequence_map(Context& c) {
  const GraphProto* body = c.graph("body");
  if (!body) return c.fail(invalid("the graph attribute body is missing"));
  if (!c.has(0) || !c.in(0)->type().is_sequence())
    return c.fail(invalid("the first input is no sequence"));
  HandRegion turn(c, "map");
  Value* index = turn.input("i", Type(DType::i64, {}));
  Value* go_on = turn.input("go_on", Type(DType::boolean, {}));
  Values carried, initial;
  for (const ValueInfoProto& v : body->outputs) {
    auto type = parse_type(v.type, v.name);
    if (!type.ok() || !type->is_tensor())
      return c.fail(
          unsupported("the type of the body's output '{}' must be declared as a tensor", v.name));
    initial.push_back(c.op("sequence_empty", {}, {{"dtype", type->dtype()}}));
    carried.push_back(turn.input(fmt::format("made{}", carried.size()),
                                 Type::sequence(Type::unranked(type->dtype()))));
  }
  Values elements;
  for (Value* v : c.inputs()) {
    Value* inside = turn.capture(v);
    elements.push_back(v->type().is_sequence() ? turn.c.op("sequence_at", {inside, index})
                                               : inside);
  }
  const Values made =
      c.importer().import_body(*body, turn.scope, c.frame(), elements, turn.builder);
  turn.output(go_on, "go_on");
  for (std::size_t k = 0; k < made.size(); ++k)
    turn.output(turn.c.op("sequence_insert", {carried[k], made[k]}), fmt::format("made{}", k));
  Region region = turn.finish();
  if (c.failed()) return c.fail(Error{});
  Values inputs = {c.op("sequence_length", {c.in(0)}), nullptr};
  inputs.insert(inputs.end(), initial.begin(), initial.end());
  inputs.insert(inputs.end(), region.captures.begin(), region.captures.end());
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(region.graph));
  return c.all("loop", std::move(inputs),
               {{"num_carried", static_cast<std::int64_t>(carried.size())}}, c.num_outputs(),
               std::move(regions));
}

}  // namespace

void add_sequence_rows(Rows& rows) {
  const auto add = [&](std::string_view op, Values (*convert)(Context&), std::string_view page = {},
                       int first = 11) { rows.push_back({"", op, convert, page, {}, first}); };
  add("SequenceEmpty", sequence_empty);
  add("SequenceConstruct", renamed, "sequence_construct");
  add("SequenceInsert", renamed, "sequence_insert");
  add("SequenceErase", renamed, "sequence_erase");
  add("SequenceAt", renamed, "sequence_at");
  add("SequenceLength", renamed, "sequence_length");
  add("SplitToSequence", split_to_sequence);
  add("ConcatFromSequence", concat_from_sequence);
  add("SequenceMap", sequence_map, {}, 17);
  add("Optional", optional, {}, 15);
  add("OptionalHasElement", has_element, {}, 15);
  add("OptionalGetElement", get_element, {}, 15);
}

}  // namespace tenon::onnx
