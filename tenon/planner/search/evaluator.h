// Prices plans for a search: counts them, remembers them, keeps the best of each kind, and says
// when to stop.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <unordered_map>

#include "tenon/planner/search/space.h"

namespace tenon::planner {

/// A 64-bit key of everything in a plan that changes its price.
std::uint64_t plan_key(const Plan& plan);

Metrics metrics_of(const Pricer& pricer, const Plan& plan, const Price& price);

class Evaluator {
 public:
  struct Outcome {
    double value = 0;  ///< of the objective, whether or not the plan fits
    double seconds = 0;
    double compute_seconds = 0;  ///< that no schedule or sharding of this cut takes away
    double pressure = 0;         ///< memory needed / memory there; fits up to 1
    bool valid = false;
    bool fits() const { return valid && pressure <= 1; }
  };

  Evaluator(Pricer& pricer, const SearchRequest& request);

  /// Prices a plan once. Invalid plans have an infinite value and are not counted.
  const Outcome& evaluate(const Plan& plan);
  /// The price of a plan with its stages, for moves that look at them. Not counted again.
  Price price(const Plan& plan, std::vector<StagePrediction>* stages) {
    return pricer_.price(plan, stages);
  }

  /// Whether a cap or an interrupt says stop; cheap.
  bool stopped();
  const std::string& stopped_by() const { return stopped_by_; }

  bool has_best() const { return best_ != nullptr; }
  double best_value() const { return best_ ? best_->value : 1e300; }
  const Candidate& best() const { return *best_; }
  /// The best of each division of the devices and schedule, best first; where these are few, other
  /// good plans after them.
  std::vector<Candidate> leaders(std::size_t count) const;
  std::vector<Candidate> pareto() const;
  /// The plan that needs the least memory, fitting or not; for saying what would make it feasible.
  const Candidate* leanest() const { return leanest_.get(); }
  std::int64_t count() const { return count_; }
  /// Configurations priced when a value within 1 % of `value` was first seen.
  std::int64_t count_within_one_percent() const;

  Pricer& pricer() { return pricer_; }
  const Workload& workload() const { return pricer_.workload(); }
  const SearchRequest& request() const { return request_; }
  std::int64_t num_devices() const { return num_devices_; }
  bool homogeneous() const { return homogeneous_; }
  double value_of(const Metrics& metrics) const;
  /// Whether no plan that computes for this long can be the answer.
  bool hopeless(double compute_seconds) const;

 private:
  using MeshKey = std::array<int, 5>;
  void record(const Plan& plan, const Price& price, const Metrics& metrics, double value);
  void record_top(const Candidate& candidate);
  void record_pareto(const Candidate& candidate);

  Pricer& pricer_;
  const SearchRequest& request_;
  const std::int64_t num_devices_;
  const bool homogeneous_;
  double started_ = 0;
  std::int64_t count_ = 0, polls_ = 0;
  std::string stopped_by_;
  std::unordered_map<std::uint64_t, Outcome> seen_;
  std::map<MeshKey, Candidate> of_mesh_;
  std::vector<std::pair<std::int64_t, double>> progress_;  // configurations, best value
  std::vector<Candidate> top_;  // the best plans whatever their division, best first
  std::vector<Candidate> front_;
  std::unique_ptr<Candidate> best_, leanest_;
};

}  // namespace tenon::planner
