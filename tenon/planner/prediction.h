// What the planner says about a plan: time with its parts, memory with its parts, validity.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tenon::planner {

/// Bytes on one device.
struct MemoryParts {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
  double buffers = 0;  // communication, allocator slack, logits and workspace, context
  double total() const { return weights + gradients + optimizer + activations + buffers; }
};

/// One pipeline device. Times are of one micro-batch unless said otherwise.
struct StagePrediction {
  int layers = 0;
  double forward_seconds = 0;         // traffic that is not hidden included
  double backward_input_seconds = 0;  // recomputation included
  double backward_weight_seconds = 0;
  double send_seconds = 0;           // one message to the next stage
  double gradient_sync_seconds = 0;  // once a step, what is not hidden
  double optimizer_seconds = 0;      // once a step
  double activation_bytes = 0;       // kept by one micro-batch in flight
  double weight_share = 0;           // of these, what the weight gradient alone still needs
  MemoryParts memory;
  double backward_seconds() const { return backward_input_seconds + backward_weight_seconds; }
};

struct Prediction {
  double step_seconds = 0;
  // Parts of step_seconds; they add up to it.
  double compute_seconds = 0;
  double exposed_communication_seconds = 0;
  double bubble_seconds = 0;
  double optimizer_seconds = 0;
  double other_seconds = 0;

  double bubble_rate = 0;        // idle share of the pipeline part of the step
  bool counts_tokens = true;     // false: samples, where the model has no tokens
  double tokens_per_second = 0;  // samples per second where the model has no tokens
  double mfu = 0;                // model flops / (peak x time)
  double model_tflops_per_device = 0;
  double uncertainty = 0;  // relative, one standard deviation of the step time
  MemoryParts memory;      // of the fullest device
  std::vector<StagePrediction> per_stage;
  std::string calibration;  // the device efficiency model used

  double parts_seconds() const {
    return compute_seconds + exposed_communication_seconds + bubble_seconds + optimizer_seconds +
           other_seconds;
  }
};

/// Why a plan is not valid, and the least change that would make it so.
struct Problem {
  std::string code;     // "devices", "batch", "memory", "heads", ...
  std::string message;  // what disagrees with what
  std::string help;     // the least change
};

nlohmann::ordered_json to_json(const MemoryParts& memory);
nlohmann::ordered_json to_json(const Prediction& prediction);
nlohmann::ordered_json to_json(const std::vector<Problem>& problems);

}  // namespace tenon::planner
