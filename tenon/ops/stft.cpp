// stft(signal, frame_step, window, frame_length; onesided): Fourier transforms of overlapping
// frames.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

// signal[batch, length, 1 or 2]
Dim frame_length(const Call& c) {
  if (c.has(3)) {
    auto given = c.dims(3);
    return given && given->size() == 1 ? (*given)[0] : c.fresh_dim("frame");
  }
  return c.has(2) ? c.in(2).dim(0) : c.in(0).dim(1);
}

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked() || (c.has(2) && !c.in(2).ranked()))
    return Types{Type(x.dtype(), unknown_shape(c, 4))};
  TENON_EXPECT(x.ndim() == 3, "signal.ndim == 3", x);
  TENON_EXPECT(c.has(2) || c.has(3), "window or frame_length is given", x);
  const Dim frame = frame_length(c);
  if (c.has(2)) {
    TENON_EXPECT(c.in(2).ndim() == 1, "window.ndim == 1", c.in(2));
    TENON_EXPECT_SAME(c.in(2).dim(0), frame, "window.size == frame_length");
  }
  auto step = c.dims(1);
  if (step) TENON_EXPECT(at_least((*step)[0], 1) != Truth::no, "frame_step >= 1", c.in(1));
  TENON_EXPECT(at_least(x.dim(1), frame) != Truth::no, "a frame is no longer than the signal", x);
  const Dim frames =
      step ? floor_div(x.dim(1) - frame, (*step)[0]) + Dim(1) : c.fresh_dim("frames");
  return Types{x.with_shape(
      {x.dim(0), frames, c.flag("onesided") ? floor_div(frame, Dim(2)) + Dim(1) : frame, Dim(2)})};
}

// Frame f is signal[f * step ... f * step + length), times the window, transformed.
Values decompose(B g, const Call& c) {
  Value *x = c.value(0), *one = g.ints({1});
  const auto number = [&](int i) {
    return g.reshape(g.cast_to(c.value(i), DType::i64), g.ints({1}));
  };
  Value *step = number(1), *length = c.has(3) ? number(3) : size_of_axis(g, c.value(2), 0);
  Value* frames = g.add(g.div(g.sub(size_of_axis(g, x, 1), length), step), one);
  Value* at = g.add(g.mul(iota_along(g, frames, 0, 2), step), iota_along(g, length, 1, 2));
  Value* framed = g.gather(x, at, Attrs{{"axis", 1}});
  if (c.has(2)) framed = g.mul(framed, g.unsqueeze(c.value(2), g.ints({1})));
  return {g.dft(framed, Attrs{{"onesided", c.flag("onesided")}})};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

Result<Factors> sharding(const Call& c) {
  Factors f = all_whole(c);
  f.inputs[0][0] = f.outputs[0][0] = "n";
  return f;
}

}  // namespace

OpPage stft() {
  const auto n = [](std::int64_t v) { return Tensor::scalar(v); };
  return {.name = "stft",
          .doc =
              "y[batch, frame, frequency, (real, imaginary)]: discrete Fourier transforms of "
              "frames of frame_length (the window's size by default) samples, frame_step apart, "
              "each multiplied by "
              "`window`; onesided leaves out the frequencies above the middle",
          .inputs = {{"signal", kFloat},
                     {"frame_step", kIndex, "S"},
                     maybe("window", kFloat),
                     maybe("frame_length", kIndex, "L")},
          .attrs = {{"onesided", true}},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{2, 12, 1}, {}, {}, {}}).known(1, n(3)).absent(2).known(3, n(4)),
                      sample({{2, 10, 1}, {}, {5}}).given(1, n(2)),
                      sample({{1, 8, 2}, {}, {4}}).known(1, n(4)).with({{"onesided", false}}),
                      rejects({{1, 4, 1}, {}, {5}}, "no longer than the signal").known(1, n(1)),
                      rejects({{1, 8, 1}, {}, {5}, {}}, "window.size is 5 but frame_length is 4")
                          .known(1, n(1))
                          .known(3, n(4))}};
}

}  // namespace tenon::ops
