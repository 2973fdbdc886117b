// Predictions as JSON.
#include "tenon/planner/prediction.h"

#include <nlohmann/json.hpp>

namespace tenon::planner {

nlohmann::ordered_json to_json(const MemoryParts& memory) {
  return {{"total", memory.total()},           {"weights", memory.weights},
          {"gradients", memory.gradients},     {"optimizer", memory.optimizer},
          {"activations", memory.activations}, {"buffers", memory.buffers}};
}

nlohmann::ordered_json to_json(const Prediction& p) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (const auto& stage : p.per_stage) {
    stages.push_back({{"layers", stage.layers},
                      {"forward_seconds", stage.forward_seconds},
                      {"backward_seconds", stage.backward_seconds()},
                      {"backward_weight_seconds", stage.backward_weight_seconds},
                      {"send_seconds", stage.send_seconds},
                      {"gradient_sync_seconds", stage.gradient_sync_seconds},
                      {"optimizer_seconds", stage.optimizer_seconds},
                      {"activation_bytes_per_micro_batch", stage.activation_bytes},
                      {"memory_bytes", to_json(stage.memory)}});
  }
  return {{"step_seconds", p.step_seconds},
          {"compute_seconds", p.compute_seconds},
          {"exposed_communication_seconds", p.exposed_communication_seconds},
          {"bubble_seconds", p.bubble_seconds},
          {"optimizer_seconds", p.optimizer_seconds},
          {"other_seconds", p.other_seconds},
          {"bubble_rate", p.bubble_rate},
          {"tokens_per_second", p.tokens_per_second},
          {"rate_unit", p.counts_tokens ? "tokens" : "samples"},
          {"mfu", p.mfu},
          {"model_tflops_per_device", p.model_tflops_per_device},
          {"uncertainty", p.uncertainty},
          {"calibration", p.calibration},
          {"memory_bytes", to_json(p.memory)},
          {"per_stage", stages}};
}

nlohmann::ordered_json to_json(const std::vector<Problem>& problems) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& p : problems) {
    list.push_back({{"code", p.code}, {"message", p.message}, {"help", p.help}});
  }
  return list;
}

}  // namespace tenon::planner
