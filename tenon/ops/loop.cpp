// loop(max_trips, condition, carried..., captures...; body): a region until it says stop.
#include <limits>

#include "tenon/base/interrupt.h"
#include "tenon/ops/control_flow.h"
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

// Node inputs: max_trips, condition, carried, captures. Region: iteration, condition, carried,
// captures
// -> condition, carried, one slice for every scan output.
struct Parts {
  int carried, captures, scans;
};

Result<Parts> parts_of(const Call& c) {
  TENON_EXPECT(c.num_regions() == 1, "there is one region");
  const int carried = static_cast<int>(c.integer("num_carried")),
            captures = c.num_inputs() - 2 - carried;
  TENON_EXPECT(carried >= 0 && captures >= 0, "num_carried values are given");
  const int scans = static_cast<int>(c.region(0).outputs().size()) - 1 - carried;
  TENON_EXPECT(scans >= 0, "the region gives a condition and every carried value");
  return Parts{carried, captures, scans};
}

// Whether the region always goes on: its condition is the one it got, or a constant.
bool never_stops(const Call& c) {
  if (c.has(1)) {
    auto known = c.constant(1);
    if (!known || integer_element(*known, 0) == 0) return false;
  }
  const Graph& body = c.region(0);
  const Value* v = body.outputs()[0];
  while (v->producer() && v->producer()->op().has(Trait::view) &&
         v->producer()->inputs().size() == 1)
    v = v->producer()->input(0);
  return v == body.inputs()[1] || (v->is_constant() && integer_element(v->tensor(), 0) != 0);
}

Dim trips(const Call& c) {
  if (auto n = c.has(0) ? c.dims(0) : std::nullopt; n && never_stops(c))
    return max(Dim(0), (*n)[0]);
  return c.fresh_dim("trips");
}

Result<Types> infer(const Call& c) {
  const Parts p = TENON_TRY(parts_of(c));
  const Types before = {Type(DType::i64, {}), Type(DType::boolean, {})};
  const int first_capture = 2 + p.carried;
  Types out = TENON_TRY(carried_types(c, before, input_types(c, 2, first_capture),
                                      input_types(c, first_capture, c.num_inputs()),
                                      input_numbers(first_capture, c.num_inputs()), 1));
  const Dim n = trips(c);
  for (int i = 0; i < p.scans; ++i) {
    const Type& slice = c.region(0).outputs()[static_cast<std::size_t>(1 + p.carried + i)]->type();
    TENON_EXPECT(slice.is_tensor(), "a scan output is a tensor", slice);
    Shape shape = {n};
    shape.insert(shape.end(), slice.shape().begin(), slice.shape().end());
    out.push_back(slice.ranked() ? slice.with_shape(shape) : slice);
  }
  return out;
}

Result<Datums> eval(const EvalCall& e) {
  const Parts p = TENON_TRY(parts_of(e.call));
  const Graph& body = e.call.region(0);
  const std::int64_t limit =
      e.has(0) ? integer_element(e.in(0), 0) : std::numeric_limits<std::int64_t>::max();
  bool goes_on = !e.has(1) || integer_element(e.in(1), 0) != 0;
  Datums carried(e.inputs.begin() + 2, e.inputs.begin() + 2 + p.carried);
  std::vector<std::vector<Tensor>> slices(static_cast<std::size_t>(p.scans));
  for (std::int64_t i = 0; goes_on && i < limit; ++i) {
    TENON_TRY(check_interrupt());
    Datums in = {Datum(Tensor::scalar(i)), Datum(Tensor::scalar(goes_on))};
    in.insert(in.end(), carried.begin(), carried.end());
    in.insert(in.end(), e.inputs.begin() + 2 + p.carried, e.inputs.end());
    Datums out = TENON_TRY(e.run_region(body, std::move(in)));
    goes_on = integer_element(out[0].tensor(), 0) != 0;
    carried.assign(std::make_move_iterator(out.begin() + 1),
                   std::make_move_iterator(out.begin() + 1 + p.carried));
    for (int s = 0; s < p.scans; ++s)
      slices[static_cast<std::size_t>(s)].push_back(
          out[static_cast<std::size_t>(1 + p.carried + s)].tensor());
  }
  for (int s = 0; s < p.scans; ++s)
    carried.emplace_back(
        TENON_TRY(stack(slices[static_cast<std::size_t>(s)], 0, false,
                        body.outputs()[static_cast<std::size_t>(1 + p.carried + s)]->type())));
  return carried;
}

Values gradient(Builder& b, const Call& c, const Values& dys) {
  const Parts p = *parts_of(c);
  const std::vector<std::int64_t> zeros(static_cast<std::size_t>(p.scans), 0);
  return gradient_of_iterations(b, c,
                                {.counts = true,
                                 .first_input = 2,
                                 .num_states = p.carried,
                                 .num_slices = 0,
                                 .input_axes = {},
                                 .output_axes = zeros,
                                 .input_reversed = {},
                                 .output_reversed = zeros},
                                dys);
}

Cost cost(const Call& c) { return {flops_of(c.region(0)) * trips(c), c.bytes_in(), c.bytes_out()}; }

}  // namespace

OpPage loop() {
  return {.name = "loop",
          .doc =
              "runs its region at most max_trips times (without limit if absent) while the "
              "condition holds (true if absent): it takes the number of the iteration, the "
              "condition, num_carried "
              "values that go around and the captures; it gives the next condition, the carried "
              "values, and slices that are stacked over the iterations",
          .inputs = {maybe("max_trips", kIndex, "M"),
                     maybe("condition", kBool, "C"),
                     {"carried_and_captures", kAny, "", Arity::many, Holds::anything}},
          .outputs = {"carried_and_stacked"},
          .attrs = {AttrSpec::required("num_carried", Attr::Kind::integer)},
          .traits = {Trait::control_flow},
          .infer = infer,
          .eval = eval,
          .decompose = none("core: no other operator repeats"),
          .gradient = gradient,
          .cost = cost,
          .sharding = [](const Call& c) -> Result<Factors> { return all_whole(c); }};
}

}  // namespace tenon::ops
