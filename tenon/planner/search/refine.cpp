#include "tenon/planner/search/refine.h"

namespace tenon::planner {
namespace {

std::vector<Move> fixed_order() {
  std::vector<Move> moves;
  for (int i = 0; i < num_moves; ++i) moves.push_back(static_cast<Move>(i));
  return moves;
}

}  // namespace

bool better(const Evaluator::Outcome& a, const Evaluator::Outcome& b) {
  if (a.valid != b.valid) return a.valid;
  if (a.fits() != b.fits()) return a.fits();
  if (!a.fits() && a.pressure < b.pressure * 0.999) return true;
  if (!a.fits() && a.pressure > b.pressure * 1.001) return false;
  return a.value < b.value * (1 - 1e-9);
}

Plan refine(Evaluator& evaluator, const SearchSpace& space, const Plan& start,
            const RefineOptions& options) {
  Plan plan = start;
  for (bool improved = true; improved;) {
    improved = false;
    const Evaluator::Outcome now = evaluator.evaluate(plan);
    if (!now.valid) return plan;
    std::vector<StagePrediction> stages;
    const Price price = evaluator.price(plan, &stages);
    const MoveContext context = {space, evaluator.pricer(), stages};
    const std::vector<Move> order =
        options.policy
            ? options.policy->order(policy_features(plan, price, stages, evaluator.pricer()))
            : fixed_order();
    for (int i = 0; i < options.moves_at_each && !improved; ++i) {
      for (Plan& next : moved(plan, order[i], context)) {
        if (evaluator.stopped()) return plan;
        if (!better(evaluator.evaluate(next), now)) continue;
        plan = std::move(next);
        improved = true;
        break;
      }
    }
  }
  return plan;
}

}  // namespace tenon::planner
