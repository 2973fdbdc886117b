// How much of a data sheet a software stack reaches: the calibrated factors of the cost model.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/machine/device.h"

namespace tenon {

/// One line a factor: name, prior mean, prior spread (one standard deviation of its logarithm),
/// greatest value. Fitting moves a factor from its prior only as far as measurements ask for. The
/// means of the kernels' factors are the geometric means over the calibrations that ship.
#define TENON_EFFICIENCY_FACTORS(X)                                                               \
  /* share of the arithmetic peak that the largest matrix product reaches */                      \
  X(matmul_peak, 0.84, 0.06, 0.97)                                                                \
  /* filling and draining one full tile on one unit, seconds */                                   \
  X(tile_seconds, 2.9e-6, 0.5, 1e-3)                                                              \
  /* 1: whole waves of tiles are paid; 0: tiles fill the device smoothly */                       \
  X(wave_quantisation, 0.63, 0.3, 1)                                                              \
  /* share of the memory bandwidth that elementwise kernels reach */                              \
  X(memory_peak, 0.78, 0.12, 0.98)                                                                \
  /* least time of a kernel, seconds */                                                           \
  X(kernel_seconds, 5.4e-6, 0.4, 1e-3)                                                            \
  /* attention products relative to matmul_peak: batched products, or the fused kernel */         \
  X(attention_peak, 0.56, 0.25, 1)                                                                \
  /* 8-bit products relative to the 8-bit peak, beside matmul_peak */                             \
  X(low_precision_peak, 0.70, 0.2, 1)                                                             \
  /* share of the node link that a collective reaches */                                          \
  X(node_bandwidth, 0.75, 0.15, 1)                                                                \
  /* latency of a collective in a node, relative to its hops */                                   \
  X(node_latency, 1.0, 0.4, 100)                                                                  \
  /* share of the network link that a collective reaches */                                       \
  X(network_bandwidth, 0.85, 0.2, 1)                                                              \
  /* latency over the network, relative to its hops */                                            \
  X(network_latency, 1.5, 0.4, 100)                                                               \
  /* share of the backward tensor-parallel traffic hidden behind weight gradients */              \
  X(tensor_overlap, 0.25, 0.5, 1)                                                                 \
  /* the same for forward traffic (products cut into pieces that overlap with their transfers) */ \
  X(tensor_overlap_forward, 0.03, 1.0, 1)                                                         \
  /* share of gradient reduction that may hide behind the last micro-batch's backward */          \
  X(gradient_overlap, 0.85, 0.3, 1)                                                               \
  /* share of expert all-to-all hidden behind computation */                                      \
  X(expert_overlap, 0.15, 0.5, 1)                                                                 \
  /* share of the network link that one sender to one receiver reaches (few channels a peer) */   \
  X(send_bandwidth, 0.45, 0.4, 1)                                                                 \
  /* share of stage-to-stage sends hidden behind computation */                                   \
  X(pipeline_overlap, 0.15, 0.7, 1)                                                               \
  /* host synchronisation at each send or receive between stages, seconds */                      \
  X(pipeline_sync_seconds, 4e-4, 0.8, 0.1)                                                        \
  /* host time to launch one kernel, seconds: the floor when kernels are short */                 \
  X(host_seconds, 9e-6, 0.4, 1e-3)                                                                \
  /* bytes moved a parameter in the optimizer step, relative to reading and writing its state */  \
  X(optimizer_passes, 1.87, 0.4, 20)                                                              \
  /* what a step costs whatever its size: data, logging, clipping, seconds */                     \
  X(step_seconds, 0.008, 0.5, 10)                                                                 \
  /* bytes moved a logit in the loss, forward and backward */                                     \
  X(loss_bytes, 24, 0.3, 200)                                                                     \
  /* growth of compute time with each doubling of nodes: stragglers and jitter */                 \
  X(jitter, 0.010, 0.5, 0.2)                                                                      \
  /* slowdown from each further tensor group on a node while stages exchange activations */       \
  X(node_sharing, 0.02, 1.5, 0.5)

/// The factors, and the choices of a stack that are facts rather than fits.
struct Efficiency {
#define TENON_X(name, mean, spread, greatest) double name = mean;
  TENON_EFFICIENCY_FACTORS(TENON_X)
#undef TENON_X
  bool fused_attention = true;       // attention never writes its score matrix (flash)
  bool split_pipeline_sends = true;  // each tensor peer sends its share, gathered on arrival
  bool sends_token_once = false;  // a token goes once to a device that has several of its experts
  double noise = 0.06;            // relative scatter of steps that no factor explains (1 sigma)
  friend bool operator==(const Efficiency&, const Efficiency&) = default;
};

struct EfficiencyFactor {
  const char* name;
  double Efficiency::* member;
  double prior, spread, greatest;
};
inline constexpr int kNumEfficiencyFactors = 0
#define TENON_X(name, mean, spread, greatest) +1
    TENON_EFFICIENCY_FACTORS(TENON_X)
#undef TENON_X
    ;
/// All factors in declaration order.
const std::vector<EfficiencyFactor>& efficiency_factors();

/// An efficiency with its provenance: which device and stack, and which measurements it was fitted
/// on.
struct Calibration {
  std::string name;    // "A100-80G.megatron-2022"
  std::string device;  // empty: any
  std::string stack;
  std::string note;
  bool is_default = false;  // chosen for its device when none is named
  Efficiency efficiency;
  std::vector<std::string> rows;  // identifiers of the measurements it was fitted on
};

/// Reads TOML or JSON; every factor has its prior as default.
Result<Calibration> parse_calibration(std::string_view text, std::string_view where);
Result<Calibration> load_calibration(const std::string& path_or_name);
/// The calibration shipped as a device's default, else the data-sheet prior.
Calibration shipped_calibration(const Device& device);
/// Names of all shipped calibrations.
std::vector<std::string> calibration_names();
/// TOML text that parse_calibration reads back.
std::string to_toml(const Calibration& calibration);

}  // namespace tenon
