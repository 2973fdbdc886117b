#include "tenon/cli/plan_text.h"

#include <fmt/format.h>

namespace tenon::cli {

std::string bytes_text(double bytes) {
  constexpr double kMiB = 1024.0 * 1024, kGiB = 1024 * kMiB;
  if (bytes >= kGiB) return fmt::format("{:.1f} GiB", bytes / kGiB);
  return fmt::format("{:.0f} MiB", bytes / kMiB);
}

std::string seconds_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  return fmt::format("{:.3g} ms", seconds * 1e3);
}

std::string text_of(const planner::Prediction& p) {
  const auto share = [&](double part) { return 100 * part / p.step_seconds; };
  std::string text = fmt::format("step         {} +- {:.0f} %   (calibration {})\n",
                                 seconds_text(p.step_seconds), 100 * p.uncertainty, p.calibration);
  for (const auto& [name, part] : {std::pair{"compute", p.compute_seconds},
                                   {"communication", p.exposed_communication_seconds},
                                   {"bubble", p.bubble_seconds},
                                   {"optimizer", p.optimizer_seconds},
                                   {"other", p.other_seconds}}) {
    text += fmt::format("  {:<13} {:>9}  {:>5.1f} %\n", name, seconds_text(part), share(part));
  }
  text += fmt::format(
      "rate         {:.4g} {}/s, {:.1f} TFLOP/s a device, MFU {:.1f} %, bubble {:.1f} %\n",
      p.tokens_per_second, p.counts_tokens ? "tokens" : "samples", p.model_tflops_per_device,
      100 * p.mfu, 100 * p.bubble_rate);
  text += fmt::format("memory       {} on the fullest device\n", bytes_text(p.memory.total()));
  for (const auto& [name, part] : {std::pair{"weights", p.memory.weights},
                                   {"gradients", p.memory.gradients},
                                   {"optimizer", p.memory.optimizer},
                                   {"activations", p.memory.activations},
                                   {"buffers", p.memory.buffers}}) {
    text += fmt::format("  {:<13} {:>9}\n", name, bytes_text(part));
  }
  if (p.per_stage.size() < 2) return text;
  text += "stage layers  forward  backward    memory\n";
  for (std::size_t i = 0; i < p.per_stage.size(); ++i) {
    const auto& s = p.per_stage[i];
    text +=
        fmt::format("{:>5} {:>6} {:>8} {:>9} {:>9}\n", i, s.layers, seconds_text(s.forward_seconds),
                    seconds_text(s.backward_seconds()), bytes_text(s.memory.total()));
  }
  return text;
}

std::string text_of(const std::vector<planner::Problem>& problems) {
  std::string text;
  for (const auto& problem : problems) {
    text += fmt::format("not valid: {}\n  help: {}\n", problem.message, problem.help);
  }
  return text;
}

}  // namespace tenon::cli
