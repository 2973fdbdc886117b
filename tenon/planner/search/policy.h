// Which refinement move to try first: a linear softmax policy, trained offline by REINFORCE.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tenon/planner/search/evaluator.h"
#include "tenon/planner/search/moves.h"

namespace tenon::planner {

inline constexpr int num_policy_features = 14;
using PolicyFeatures = std::array<double, num_policy_features>;

/// What the policy sees of a priced plan: where its time and memory go, each roughly in -1 to 1.
PolicyFeatures policy_features(const Plan& plan, const Price& price,
                               const std::vector<StagePrediction>& stages, const Pricer& pricer);

class MovePolicy {
 public:
  MovePolicy() = default;  ///< no preference
  /// The policy that ships, from data/planner/move_policy.json.
  static const MovePolicy& shipped();
  static Result<MovePolicy> parse(std::string_view text, std::string_view where);
  std::string to_text() const;

  std::array<double, num_moves> probabilities(const PolicyFeatures& features) const;
  /// Moves from the most to the least likely one.
  std::vector<Move> order(const PolicyFeatures& features) const;
  /// One step of policy gradient: the log-probability of `move` grows by rate x advantage.
  void learn(const PolicyFeatures& features, Move move, double advantage, double rate);

 private:
  std::array<PolicyFeatures, num_moves> weights_{};
};

}  // namespace tenon::planner
