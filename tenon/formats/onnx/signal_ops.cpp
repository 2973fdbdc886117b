// Fourier transforms and windows.
#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
namespace {

// DFT: the axis is an attribute in version 17 and an input since 20.
Values dft(Context& c) {
  Attrs attrs{{"inverse", c.flag("inverse", false)}, {"onesided", c.flag("onesided", false)}};
  Value* axis = c.version() < 20 ? c.integer_scalar(c.integer("axis", 1)) : c.in(2);
  return {c.op("dft", {c.in(0), c.in(1), axis}, std::move(attrs))};
}

Values stft(Context& c) {
  return {c.op("stft", c.inputs(), {{"onesided", c.flag("onesided", true)}})};
}

Values window(Context& c) {
  return {c.op(c.row().page, {c.in(0)},
               {{"periodic", c.flag("periodic", true)},
                {"dtype", c.element_type("output_datatype", DType::f32)}})};
}

Values mel_weight_matrix(Context& c) {
  return {c.op("mel_weight_matrix", c.inputs(),
               {{"dtype", c.element_type("output_datatype", DType::f32)}})};
}

}  // namespace

void add_signal_rows(Rows& rows) {
  const auto add = [&](std::string_view op, Values (*convert)(Context&),
                       std::string_view page = {}) {
    rows.push_back({"", op, convert, page, {}, 17});
  };
  add("DFT", dft);
  add("STFT", stft);
  add("HannWindow", window, "hann_window");
  add("HammingWindow", window, "hamming_window");
  add("BlackmanWindow", window, "blackman_window");
  add("MelWeightMatrix", mel_weight_matrix);
}

}  // namespace tenon::onnx
