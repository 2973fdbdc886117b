// scan(states..., inputs..., captures...; body): a region over the slices of tensors.
#include "tenon/base/interrupt.h"
#include "tenon/ops/control_flow.h"
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

// Node inputs: states, scanned inputs, captures. Region: states, slices, captures -> states,
// slices.
struct Parts {
  int states, inputs, outputs, first_capture;
  std::vector<std::int64_t> input_axes, input_reversed, output_axes, output_reversed;
};

Result<std::vector<std::int64_t>> numbers(const Call& c, const char* name, int n) {
  if (!c.has_attr(name) || c.integers(name).empty())
    return std::vector<std::int64_t>(static_cast<std::size_t>(n), 0);
  const auto& given = c.integers(name);
  if (static_cast<int>(given.size()) != n)
    return invalid("scan: {} has {} numbers for {} tensors", name, given.size(), n);
  return given;
}

Result<Parts> parts_of(const Call& c) {
  TENON_EXPECT(c.num_regions() == 1, "there is one region");
  Parts p{};
  p.states = static_cast<int>(c.integer("num_states"));
  p.inputs = static_cast<int>(c.integer("num_scan_inputs"));
  p.first_capture = p.states + p.inputs;
  p.outputs = static_cast<int>(c.region(0).outputs().size()) - p.states;
  TENON_EXPECT(
      p.states >= 0 && p.inputs >= 1 && p.first_capture <= c.num_inputs() && p.outputs >= 0,
      "num_states and num_scan_inputs values are given");
  p.input_axes = TENON_TRY(numbers(c, "scan_input_axes", p.inputs));
  p.input_reversed = TENON_TRY(numbers(c, "scan_input_directions", p.inputs));
  p.output_axes = TENON_TRY(numbers(c, "scan_output_axes", p.outputs));
  p.output_reversed = TENON_TRY(numbers(c, "scan_output_directions", p.outputs));
  return p;
}

// Types of the slices; `n` becomes their common number.
Result<Types> slice_types(const Call& c, const Parts& p, std::optional<Dim>& n) {
  Types slices;
  for (int i = 0; i < p.inputs; ++i) {
    const Type& x = c.in(p.states + i);
    TENON_EXPECT(x.is_tensor(), "a scanned input is a tensor", x);
    if (!x.ranked()) {
      slices.push_back(x);
      continue;
    }
    const int axis = TENON_TRY(c.axis(p.input_axes[static_cast<std::size_t>(i)], x.ndim()));
    if (n) TENON_EXPECT_SAME(*n, x.dim(axis), "first input's length == another input's length");
    n = x.dim(axis);
    Shape shape = x.shape();
    shape.erase(shape.begin() + axis);
    slices.push_back(x.with_shape(shape));
  }
  return slices;
}

Result<Types> infer(const Call& c) {
  const Parts p = TENON_TRY(parts_of(c));
  std::optional<Dim> n;
  Types after = TENON_TRY(slice_types(c, p, n));
  std::vector<int> handed(after.size(), -1);
  for (int i = p.first_capture; i < c.num_inputs(); ++i) {
    after.push_back(c.has(i) ? c.in(i) : Type());
    handed.push_back(i);
  }
  Types out = TENON_TRY(carried_types(c, {}, input_types(c, 0, p.states), after, handed, 0));
  for (int i = 0; i < p.outputs; ++i) {
    const Type& slice = c.region(0).outputs()[static_cast<std::size_t>(p.states + i)]->type();
    TENON_EXPECT(slice.is_tensor(), "a scan output is a tensor", slice);
    if (!slice.ranked()) {
      out.push_back(slice);
      continue;
    }
    const int axis =
        TENON_TRY(c.axis(p.output_axes[static_cast<std::size_t>(i)], slice.ndim() + 1));
    Shape shape = slice.shape();
    shape.insert(shape.begin() + axis, n ? *n : c.fresh_dim("trips"));
    out.push_back(slice.with_shape(shape));
  }
  return out;
}

Result<Datums> slices_at(const EvalCall& e, const Parts& p, std::int64_t i, std::int64_t n) {
  Datums out;
  for (std::size_t k = 0; k < p.input_axes.size(); ++k) {
    const Tensor& x = e.in(p.states + static_cast<int>(k));
    const int axis = TENON_TRY(e.call.axis(p.input_axes[k], x.ndim()));
    if (x.dim(axis) != n)
      return invalid("scan: one input has {} slices and another {}", n, x.dim(axis));
    out.emplace_back(slice_at(x, axis, p.input_reversed[k] ? n - 1 - i : i));
  }
  return out;
}

Result<Datums> eval(const EvalCall& e) {
  const Parts p = TENON_TRY(parts_of(e.call));
  const Graph& body = e.call.region(0);
  const Tensor& first = e.in(p.states);
  const std::int64_t n = first.dim(TENON_TRY(e.call.axis(p.input_axes[0], first.ndim())));
  Datums states(e.inputs.begin(), e.inputs.begin() + p.states);
  std::vector<std::vector<Tensor>> slices(static_cast<std::size_t>(p.outputs));
  for (std::int64_t i = 0; i < n; ++i) {
    TENON_TRY(check_interrupt());
    Datums in = states;
    for (Datum& d : TENON_TRY(slices_at(e, p, i, n))) in.push_back(std::move(d));
    in.insert(in.end(), e.inputs.begin() + p.first_capture, e.inputs.end());
    Datums out = TENON_TRY(e.run_region(body, std::move(in)));
    states.assign(std::make_move_iterator(out.begin()),
                  std::make_move_iterator(out.begin() + p.states));
    for (int s = 0; s < p.outputs; ++s)
      slices[static_cast<std::size_t>(s)].push_back(
          out[static_cast<std::size_t>(p.states + s)].tensor());
  }
  for (std::size_t s = 0; s < slices.size(); ++s) {
    const Type& slice = body.outputs()[static_cast<std::size_t>(p.states) + s]->type();
    const int ndim = slices[s].empty() ? slice.ndim() : slices[s][0].ndim();
    const int axis = TENON_TRY(e.call.axis(p.output_axes[s], ndim + 1));
    states.emplace_back(TENON_TRY(stack(slices[s], axis, p.output_reversed[s] != 0, slice)));
  }
  return states;
}

Values gradient(Builder& b, const Call& c, const Values& dys) {
  const Parts p = *parts_of(c);
  return gradient_of_iterations(b, c,
                                {.counts = false,
                                 .first_input = 0,
                                 .num_states = p.states,
                                 .num_slices = p.inputs,
                                 .input_axes = p.input_axes,
                                 .output_axes = p.output_axes,
                                 .input_reversed = p.input_reversed,
                                 .output_reversed = p.output_reversed},
                                dys);
}

Cost cost(const Call& c) {
  const Parts p = *parts_of(c);
  const Type& first = c.in(p.states);
  const Dim n =
      first.ranked() ? first.dim(static_cast<int>(p.input_axes[0])) : c.fresh_dim("trips");
  return {flops_of(c.region(0)) * n, c.bytes_in(), c.bytes_out()};
}

}  // namespace

OpPage scan() {
  return {
      .name = "scan",
      .doc =
          "runs its region once for each slice of the scanned inputs along scan_input_axes, "
          "backwards where scan_input_directions is 1: it takes num_states values that go around, "
          "the slices "
          "of num_scan_inputs inputs and the captures; it gives the states, and slices that are "
          "stacked along scan_output_axes, the last one first where scan_output_directions is 1",
      .inputs = {{"states_inputs_captures", kAny, "", Arity::many, Holds::anything}},
      .outputs = {"states_and_stacked"},
      .attrs = {AttrSpec::required("num_states", Attr::Kind::integer),
                AttrSpec::required("num_scan_inputs", Attr::Kind::integer),
                AttrSpec::optional("scan_input_axes", Attr::Kind::integers),
                AttrSpec::optional("scan_input_directions", Attr::Kind::integers),
                AttrSpec::optional("scan_output_axes", Attr::Kind::integers),
                AttrSpec::optional("scan_output_directions", Attr::Kind::integers)},
      .traits = {Trait::control_flow},
      .infer = infer,
      .eval = eval,
      .decompose = none("core: no other operator repeats"),
      .gradient = gradient,
      .cost = cost,
      .sharding = [](const Call& c) -> Result<Factors> { return all_whole(c); }};
}

}  // namespace tenon::ops
