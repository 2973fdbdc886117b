// First values of weights: pure functions of (seed, name), whatever the order of making.
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/base/tensor.h"

namespace tenon::models {

/// How a weight starts.
struct Init {
  enum class Kind : std::uint8_t { constant, uniform, normal, truncated_normal };
  Kind kind = Kind::constant;
  double scale = 0;  // the constant; the bound of uniform(-scale, scale); the standard deviation
};
inline Init constant(double value) { return {Init::Kind::constant, value}; }
inline Init uniform(double bound) { return {Init::Kind::uniform, bound}; }
inline Init normal(double deviation) { return {Init::Kind::normal, deviation}; }
/// Normal, drawn again beyond two standard deviations.
inline Init truncated_normal(double deviation) { return {Init::Kind::truncated_normal, deviation}; }
/// uniform(+-1 / sqrt(fan_in)): what He's rule gives for a slope of sqrt(5), PyTorch's default for
/// linear layers and convolutions. Source: He et al. 2015 (arXiv 1502.01852).
Init default_uniform(std::int64_t fan_in);
/// Normal of deviation sqrt(2 / fan_out), for convolutions in front of rectifiers.
Init he_normal(std::int64_t fan_out);

/// An f32 tensor of first values for the weight `name`.
Tensor initial(const Init& init, const Dims& dims, std::uint64_t seed, std::string_view name);

}  // namespace tenon::models
