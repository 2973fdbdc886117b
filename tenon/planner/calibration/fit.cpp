// Levenberg-Marquardt on the logarithms of the efficiency factors.
#include "tenon/planner/calibration/fit.h"

#include <algorithm>
#include <cmath>

#include "tenon/planner/pricer.h"

namespace tenon::planner {
namespace {

using Vector = std::vector<double>;

struct FitProblem {
  const std::vector<MeasuredRun>& points;
  std::vector<Workload> workloads;
  const FitOptions& options;
  std::vector<EfficiencyFactor> free;  // the factors being fitted
  Efficiency base;

  Efficiency at(const Vector& x) const {
    Efficiency e = base;
    for (std::size_t i = 0; i < free.size(); ++i) {
      e.*free[i].member = std::min(free[i].greatest, free[i].prior * std::exp(x[i]));
    }
    return e;
  }

  /// Log error of point `i` in units of its sigma.
  double error(std::size_t i, const Efficiency& e) const {
    Calibration calibration;
    calibration.efficiency = e;
    Pricer pricer(workloads[i], points[i].cluster, {calibration});
    return std::log(pricer.price(points[i].plan).step_seconds / points[i].seconds) /
           options.point_sigma;
  }

  Vector errors(const Vector& x) const {
    const Efficiency e = at(x);
    Vector result(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) result[i] = error(i, e);
    return result;
  }

  /// Half the sum of soft absolute errors and of squared prior deviations.
  double cost(const Vector& errors, const Vector& x) const {
    double sum = 0;
    for (double r : errors) sum += 2 * (std::sqrt(1 + r * r) - 1);
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * x[i] / free[i].spread / free[i].spread;
    return sum / 2;
  }
};

/// Solves a * x = b for a symmetric positive matrix by Cholesky; a and b are overwritten.
Vector solve(std::vector<Vector> a, Vector b) {
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
    a[j][j] = std::sqrt(std::max(1e-12, a[j][j]));
    for (std::size_t i = j + 1; i < n; ++i) {
      for (std::size_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

/// One damped Gauss-Newton step from x, weights of the soft absolute loss included.
Vector step_of(const FitProblem& p, const Vector& x, const Vector& errors, double damping) {
  const std::size_t n = x.size();
  std::vector<Vector> jacobian(n);
  for (std::size_t j = 0; j < n; ++j) {
    Vector moved = x;
    const double h = 1e-4;
    moved[j] += h;
    jacobian[j] = p.errors(moved);
    for (std::size_t i = 0; i < errors.size(); ++i) {
      jacobian[j][i] = (jacobian[j][i] - errors[i]) / h;
    }
  }
  std::vector<Vector> normal(n, Vector(n));
  Vector gradient(n);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t i = 0; i < errors.size(); ++i) {
      const double weight = 1 / std::sqrt(1 + errors[i] * errors[i]);
      gradient[a] -= weight * jacobian[a][i] * errors[i];
      for (std::size_t b = 0; b <= a; ++b) {
        normal[a][b] += weight * jacobian[a][i] * jacobian[b][i];
      }
    }
    const double prior = 1 / (p.free[a].spread * p.free[a].spread);
    gradient[a] -= prior * x[a];
    normal[a][a] = (normal[a][a] + prior) * (1 + damping);
  }
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < a; ++b) normal[b][a] = normal[a][b];
  }
  return solve(std::move(normal), std::move(gradient));
}

Vector minimise(const FitProblem& p) {
  Vector x(p.free.size());
  Vector errors = p.errors(x);
  double cost = p.cost(errors, x), damping = 1e-2;
  for (int iteration = 0; iteration < p.options.max_iterations && damping < 1e6; ++iteration) {
    const Vector delta = step_of(p, x, errors, damping);
    Vector next = x;
    for (std::size_t i = 0; i < x.size(); ++i) next[i] += std::clamp(delta[i], -0.5, 0.5);
    const Vector next_errors = p.errors(next);
    const double next_cost = p.cost(next_errors, next);
    if (next_cost < cost) {
      const bool done = cost - next_cost < 1e-6 * (1 + cost);
      x = next, errors = next_errors, cost = next_cost, damping = std::max(1e-6, damping / 4);
      if (done) break;
    } else {
      damping *= 5;
    }
  }
  return x;
}

/// Scatter that remains: the points' own, with a prior of three percent worth four points. Errors
/// count up to twice the prior (Huber): an outlier says that outliers happen, not
/// that all steps scatter so.
double noise_of(const std::vector<Residual>& residuals) {
  const double prior = 0.03, weight = 4;
  double sum = weight * prior * prior;
  for (const auto& r : residuals) {
    const double error = std::min(2 * prior, std::abs(r.relative_error()));
    sum += error * error;
  }
  return std::sqrt(sum / (weight + static_cast<double>(residuals.size())));
}

Status check_points(const std::vector<MeasuredRun>& points) {
  if (points.empty()) return invalid("a calibration needs at least one point");
  for (const auto& point : points) {
    if (point.cluster.groups.empty() ||
        point.cluster.groups[0].device.name != points[0].cluster.groups[0].device.name) {
      return invalid("points of several devices: {} and {}",
                     points[0].cluster.groups[0].device.name,
                     point.cluster.groups.empty() ? "none" : point.cluster.groups[0].device.name)
          .at(point.id)
          .with_help("calibrate one device and software stack at a time");
    }
  }
  return {};
}

FitProblem make_problem(const std::vector<MeasuredRun>& points, const FitOptions& options,
                        bool fused) {
  FitProblem p{points, {}, options, {}, {}};
  for (const auto& point : points) p.workloads.push_back(workload_of(point.model));
  p.base.fused_attention = fused;
  p.base.split_pipeline_sends = options.split_pipeline_sends;
  for (const auto& factor : efficiency_factors()) {
    const auto fixed = options.fixed.find(factor.name);
    if (fixed != options.fixed.end()) {
      p.base.*factor.member = fixed->second;
    } else {
      p.free.push_back(factor);
      const auto prior = options.priors.find(factor.name);
      if (prior != options.priors.end()) p.free.back().prior = prior->second;
    }
  }
  return p;
}

}  // namespace

double predicted_seconds(const MeasuredRun& run, const Calibration& calibration) {
  Pricer pricer(workload_of(run.model), run.cluster, {calibration});
  return pricer.price(run.plan).step_seconds;
}

std::vector<Residual> residuals_of(const std::vector<MeasuredRun>& runs,
                                   const Calibration& calibration) {
  std::vector<Residual> result;
  for (const auto& run : runs) {
    result.push_back({run.id, run.label, run.seconds, predicted_seconds(run, calibration)});
  }
  return result;
}

Result<FitResult> calibrate(const std::vector<MeasuredRun>& points, const std::string& name,
                            const FitOptions& options) {
  TENON_TRY(check_points(points));
  double best = 0;
  FitResult result;
  bool found = false;
  for (const bool fused : options.fused_attention) {
    const FitProblem problem = make_problem(points, options, fused);
    const Vector x = minimise(problem);
    const double cost = problem.cost(problem.errors(x), x);
    if (found && cost >= best) continue;
    found = true, best = cost;
    result.calibration.efficiency = problem.at(x);
  }
  result.calibration.name = name;
  result.calibration.device = points[0].cluster.groups[0].device.name;
  for (const auto& point : points) result.calibration.rows.push_back(point.id);
  result.residuals = residuals_of(points, result.calibration);
  result.calibration.efficiency.noise = noise_of(result.residuals);
  return result;
}

}  // namespace tenon::planner
