// Offline training of the move policy on generated problems.
#pragma once

#include "tenon/planner/search/policy.h"

namespace tenon::planner {

struct PolicyTraining {
  int episodes = 60000;
  int steps = 14;  ///< moves in an episode
  double rate = 0.03;
  double discount = 0.9;
  std::uint64_t seed = 1;
};

struct PolicyTrainingReport {
  MovePolicy policy;
  std::vector<double> rewards;  ///< mean reward of each tenth of the episodes
};

/// REINFORCE with a baseline (Williams 1992): an episode starts at a random plan of a generated
/// problem, half of them mixed; a move is drawn from the policy, the first of its plans that is
/// better is taken, and the reward is the logarithm of what it gained less a little for each plan
/// priced.
PolicyTrainingReport train_policy(const PolicyTraining& training);

}  // namespace tenon::planner
