// Other engines as child processes: ONNX Runtime and OpenVINO in a Python environment outside the
// product. Where it is missing, the answer is an error that says so, and reports print it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/base/npy.h"

namespace tenon::migrate {

/// The interpreter of the environment: $TENON_PEERS_PYTHON, else .venv/bin/python beside or above
/// the program. not_found says how to get it.
Result<std::filesystem::path> peers_python();

/// Every value that ONNX Runtime computes in `model`, by name.
struct PeerLayers {
  std::string engine;  // "onnxruntime 1.32.0"
  std::map<std::string, Tensor> values;
};
Result<PeerLayers> peer_layers(const std::filesystem::path& model, const NamedTensors& inputs);

struct PeerBench {
  std::string engine;
  double median_ms = 0, min_ms = 0;
  std::int64_t peak_memory_bytes = 0;
  int iterations = 0;
};
/// `engine` is "onnxruntime" or "openvino".
Result<PeerBench> peer_bench(std::string_view engine, const std::filesystem::path& model,
                             const NamedTensors& inputs, int threads, double seconds);

}  // namespace tenon::migrate
