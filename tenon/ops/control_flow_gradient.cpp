// The gradient of loops and scans: a scan that walks the iterations back.
//
// Forward: (s[t+1], y[t]) = f(s[t], x[t], c). With ds[T] and dy given, every step back computes
// (ds[t], dx[t], dc[t]) from (s[t], x[t], c, ds[t+1], dy[t]) by the derivative of f, and sums dc.
// The s[t] come from running the loop once more with its states as scan outputs.
#include "tenon/ops/control_flow.h"
#include "tenon/ops/registry.h"

namespace tenon::ops {
namespace {

bool is_number(const Value* v) {
  return v && v->type().is_tensor() && is_floating(v->type().dtype());
}

class Backward {
 public:
  Backward(Builder& b, const Call& c, const Iterations& loop, const Values& dys)
      : g_(b), c_(c), loop_(loop), dys_(dys), body_(c.region(0)) {
    lead_ = loop.counts ? 2 : 0;
    for (int i = 0; i < c.num_inputs() - loop.first_input; ++i)
      wants_.push_back(is_number(c.value(loop.first_input + i)));
    num_captures_ = static_cast<int>(wants_.size()) - loop.num_states - loop.num_slices;
  }

  Values run() {
    Values dxs(static_cast<std::size_t>(c_.num_inputs()), nullptr);
    for (int i = 0; i < loop_.num_states; ++i) {
      const Type& t = c_.result(i)->type();
      if (!t.is_tensor())
        return fail(unsupported("gradient of a loop that carries {}", t.text()), dxs);
    }
    auto step = derivative();
    if (!step.ok()) return fail(std::move(step).error(), dxs);
    keep_states();
    Values args = arguments();
    auto region = step_back(**step, args);
    if (!region.ok()) return fail(std::move(region).error(), dxs);
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(std::move(*region));
    const Values found =
        g_.builder().call(g_.builder().op("scan"), args, attrs_, std::move(regions));
    std::size_t k = 0;
    const auto take = [&](int begin, int end) {
      for (int i = begin; i < end; ++i)
        if (wants_[static_cast<std::size_t>(i)] && k < found.size())
          dxs[static_cast<std::size_t>(loop_.first_input + i)] = found[k++];
    };
    take(0, loop_.num_states);
    take(loop_.num_states + loop_.num_slices, static_cast<int>(wants_.size()));
    take(loop_.num_states, loop_.num_states + loop_.num_slices);
    return dxs;
  }

 private:
  Values fail(Error e, const Values& none) {
    g_.builder().fail(std::move(e));
    return none;
  }
  int num_scans() const { return static_cast<int>(loop_.output_axes.size()); }
  Value* input(int i) const { return c_.value(loop_.first_input + i); }

  // seeds: the floating states, and the scan outputs that have a dy
  Result<std::unique_ptr<Graph>> derivative() {
    std::vector<bool> seeded(static_cast<std::size_t>(loop_.counts ? 1 : 0), false),
        wanted(static_cast<std::size_t>(lead_), false);
    for (int i = 0; i < loop_.num_states; ++i)
      seeded.push_back(wants_[static_cast<std::size_t>(i)]);
    for (int i = 0; i < num_scans(); ++i)
      seeded.push_back(dys_[static_cast<std::size_t>(loop_.num_states + i)] != nullptr);
    wanted.insert(wanted.end(), wants_.begin(), wants_.end());
    return g_.builder().differentiate(body_, seeded, wanted);
  }

  // The loop again, its region also giving the states that it takes.
  void keep_states() {
    auto region = body_.clone();
    for (int i = 0; i < loop_.num_states; ++i)
      region->add_output(region->inputs()[static_cast<std::size_t>(lead_ + i)],
                         fmt::format("state{}", i));
    Attrs attrs = c_.node().attrs();
    for (const char* name : {"scan_output_axes", "scan_output_directions"})
      if (const auto* given = attrs.get<std::vector<std::int64_t>>(name);
          given && !given->empty()) {
        auto longer = *given;
        longer.resize(longer.size() + static_cast<std::size_t>(loop_.num_states), 0);
        attrs.set(name, std::move(longer));
      }
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(std::move(region));
    const Values all =
        g_.builder().call(c_.op(), c_.values(), std::move(attrs), std::move(regions));
    for (int i = 0; i < loop_.num_states; ++i)
      kept_.push_back(all[static_cast<std::size_t>(c_.num_outputs() + i)]);
  }

  // Inputs of the scan backwards: ds, sums of dc | iteration numbers, states, slices, dys |
  // captures.
  Values arguments() {
    Values args;
    std::vector<std::int64_t> axes, reversed, out_axes, out_reversed;
    for (int i = 0; i < loop_.num_states; ++i)
      if (wants_[static_cast<std::size_t>(i)])
        args.push_back(dys_[static_cast<std::size_t>(i)] ? dys_[static_cast<std::size_t>(i)]
                                                         : g_.zeros_like(c_.result(i)));
    for (int i = 0; i < num_captures_; ++i)
      if (wants_[capture(i)]) args.push_back(g_.zeros_like(input(static_cast<int>(capture(i)))));
    const auto num_states = static_cast<std::int64_t>(args.size());
    const auto scanned = [&](Value* v, std::int64_t axis, std::int64_t back) {
      args.push_back(v);
      axes.push_back(axis);
      reversed.push_back(back);
    };
    if (loop_.counts) scanned(iteration_numbers(), 0, 1);
    for (Value* v : kept_) scanned(v, 0, 1);
    for (int i = 0; i < loop_.num_slices; ++i) {
      const auto k = static_cast<std::size_t>(i);
      scanned(input(loop_.num_states + i), loop_.input_axes[k], !loop_.input_reversed[k]);
      if (!wants_[static_cast<std::size_t>(loop_.num_states + i)]) continue;
      out_axes.push_back(loop_.input_axes[k]);
      out_reversed.push_back(!loop_.input_reversed[k]);
    }
    for (int i = 0; i < num_scans(); ++i)
      if (Value* dy = dys_[static_cast<std::size_t>(loop_.num_states + i)])
        scanned(dy, loop_.output_axes[static_cast<std::size_t>(i)],
                !loop_.output_reversed[static_cast<std::size_t>(i)]);
    attrs_ = {
        {"num_states", num_states},     {"num_scan_inputs", static_cast<std::int64_t>(axes.size())},
        {"scan_input_axes", axes},      {"scan_input_directions", reversed},
        {"scan_output_axes", out_axes}, {"scan_output_directions", out_reversed}};
    for (int i = 0; i < num_captures_; ++i) args.push_back(input(static_cast<int>(capture(i))));
    return args;
  }

  std::size_t capture(int i) const {
    return static_cast<std::size_t>(loop_.num_states + loop_.num_slices + i);
  }

  // 0, 1, ...: as many as anything stacked has.
  Value* iteration_numbers() {
    Value* stacked = kept_.empty() ? nullptr : kept_[0];
    for (int i = 0; !stacked && i < num_scans(); ++i)
      stacked = dys_[static_cast<std::size_t>(loop_.num_states + i)];
    if (!stacked) return g_.ints({});
    const auto whole = [&](std::int64_t v) { return g_.constant(Tensor::scalar(v)); };
    return g_.range(whole(0), g_.reshape(g_.shape(stacked, Attrs{{"end", 1}}), g_.ints({})),
                    whole(1));
  }

  static Type slice_type(const Value* v, std::int64_t axis) {
    const Type& t = v->type();
    if (!t.ranked()) return t;
    Shape shape = t.shape();
    shape.erase(shape.begin() + (axis < 0 ? axis + t.ndim() : axis));
    return t.with_shape(shape);
  }

  // One step back, with inputs in the order of arguments().
  Result<std::unique_ptr<Graph>> step_back(const Graph& step, const Values& args) {
    auto region = std::make_unique<Graph>("backward");
    const auto num_states = static_cast<std::size_t>(*attrs_.get<std::int64_t>("num_states")),
               num_scanned = static_cast<std::size_t>(*attrs_.get<std::int64_t>("num_scan_inputs"));
    const auto& axes = *attrs_.get<std::vector<std::int64_t>>("scan_input_axes");
    Values in;
    for (std::size_t i = 0; i < args.size(); ++i) {
      const bool scanned = i >= num_states && i < num_states + num_scanned;
      in.push_back(
          region->add_input(fmt::format("x{}", i),
                            scanned ? slice_type(args[i], axes[i - num_states]) : args[i]->type()));
    }
    GraphBuilder builder(*region, table());
    std::size_t num_ds = 0;
    for (int i = 0; i < loop_.num_states; ++i) num_ds += wants_[static_cast<std::size_t>(i)];
    const auto part = [&](std::size_t begin, std::size_t n) {
      return Values(in.begin() + static_cast<std::ptrdiff_t>(begin),
                    in.begin() + static_cast<std::ptrdiff_t>(begin + n));
    };
    const std::size_t lead = loop_.counts ? 1 : 0,
                      num_recalled = static_cast<std::size_t>(loop_.num_states + loop_.num_slices);
    Values taken = part(num_states, lead + num_recalled);
    if (loop_.counts) taken.insert(taken.begin() + 1, builder.constant(Tensor::scalar(true)));
    for (Value* v : part(num_states + num_scanned, static_cast<std::size_t>(num_captures_)))
      taken.push_back(v);
    for (Value* v : part(0, num_ds)) taken.push_back(v);
    for (Value* v : part(num_states + lead + num_recalled, num_scanned - lead - num_recalled))
      taken.push_back(v);
    const Values d =
        inline_graph(builder, step, taken);  // states, slices, captures: those that are wanted
    TENON_TRY(Status(builder.take_status()));
    const std::size_t num_dc = num_states - num_ds, num_dx = d.size() - num_states;
    for (std::size_t i = 0; i < num_ds; ++i) region->add_output(d[i], fmt::format("ds{}", i));
    for (std::size_t i = 0; i < num_dc; ++i)
      region->add_output(B(builder).add(in[num_ds + i], d[num_ds + num_dx + i]),
                         fmt::format("dc{}", i));
    for (std::size_t i = 0; i < num_dx; ++i)
      region->add_output(d[num_ds + i], fmt::format("dx{}", i));
    TENON_TRY(Status(builder.take_status()));
    return region;
  }

  B g_;
  const Call& c_;
  const Iterations& loop_;
  const Values& dys_;
  const Graph& body_;
  int lead_ = 0, num_captures_ = 0;
  std::vector<bool> wants_;  // states, slices, captures
  Values kept_;
  Attrs attrs_;
};

}  // namespace

Values gradient_of_iterations(Builder& b, const Call& c, const Iterations& loop,
                              const Values& dys) {
  for (int i = c.num_outputs(); i-- > 0;)
    if (i < static_cast<int>(dys.size()) && dys[static_cast<std::size_t>(i)])
      return Backward(b, c, loop, dys).run();
  return Values(static_cast<std::size_t>(c.num_inputs()), nullptr);
}

}  // namespace tenon::ops
