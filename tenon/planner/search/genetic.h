// A genetic algorithm over plans, for spaces that climbing alone does not get through.
#pragma once

#include "tenon/base/random.h"
#include "tenon/planner/search/evaluator.h"
#include "tenon/planner/search/policy.h"

namespace tenon::planner {

struct GeneticOptions {
  int population = 40;
  int generations = 60;
  int patience = 14;                   ///< generations without a better plan before it ends
  const MovePolicy* policy = nullptr;  ///< chooses mutations; none: all alike
  std::uint64_t seed = 0;
};

/// Starts from `seeds` and random plans. Parents are drawn by tournament on non-dominated rank
/// (time, memory, cost, energy where the objective is pareto, else value and fitting); children
/// take each key from one parent and are changed by one or two moves; the better half of parents
/// and children lives on (NSGA-II, Deb et al. 2002). Results are left in the evaluator.
void search_genetically(Evaluator& evaluator, const SearchSpace& space,
                        const std::vector<Plan>& seeds, const GeneticOptions& options);

/// One plan of the space, even stages.
Plan drawn_plan(const std::vector<Mesh>& meshes, const SearchSpace& space, CounterRandom& random);

/// Plans drawn at random until a cap says stop, with random cuts into stages where devices differ.
void search_randomly(Evaluator& evaluator, const SearchSpace& space, std::uint64_t seed);

}  // namespace tenon::planner
