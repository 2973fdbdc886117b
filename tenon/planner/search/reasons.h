// Why a plan won, why others lost, what limits it, and what would help.
#pragma once

#include "tenon/planner/search/evaluator.h"

namespace tenon::planner {

/// "12 % slower: 0.31 s more exposed communication (tp16 crosses nodes)".
std::string why_lost(const Candidate& best, const Candidate& other);
/// "exposed communication, 21 % of the step".
std::string limited_by(const Candidate& best);
/// The one change, of the hardware or of a numeric choice that the search must not make, that would
/// shorten the step most, priced on the winning plan: a faster network, faster memory, more memory,
/// fp8.
std::string advice(Evaluator& evaluator, const SearchSpace& space, const Candidate& best);
/// The error of a search in which nothing fits or nothing is valid, with the least that would
/// change it.
Error why_nothing_fits(Evaluator& evaluator, const SearchSpace& space);

}  // namespace tenon::planner
