// State sizes of mixed-precision training.
#include "tenon/planner/precision_bytes.h"

namespace tenon::planner {
namespace {

/// Moments beside the fp32 master copy.
double moment_bytes(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::adam: return 8;
    case Optimizer::adam_8bit: return 2;
    case Optimizer::adafactor: return 0.05;  // a row and a column for each matrix
    case Optimizer::momentum:
    case Optimizer::muon: return 4;
    case Optimizer::sgd: return 0;
  }
  return 8;
}

}  // namespace

StateBytes state_bytes(Precision precision, Optimizer optimizer) {
  const double moments = moment_bytes(optimizer), master = 4;
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32: return {4, 4, moments};
    case Precision::fp16: return {2, 2, master + 4 + moments};
    case Precision::fp8: return {3, 4, master + moments};
    case Precision::bf16:
    case Precision::int8: return {2, 4, master + moments};
  }
  return {2, 4, master + moments};
}

double traveling_gradient_bytes(const Plan& plan) {
  switch (plan.gradient_compression) {
    case GradientCompression::bf16: return 2;
    case GradientCompression::fp8: return 1;
    case GradientCompression::none: break;
  }
  return state_bytes(plan.precision, plan.optimizer).gradient;
}

}  // namespace tenon::planner
