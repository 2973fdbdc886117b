// The largest model of a family that a cluster can train.
#pragma once

#include <string>
#include <vector>

#include "tenon/planner/model_spec.h"
#include "tenon/planner/search/spares.h"

namespace tenon::planner {

/// A model of the same shape with about `factor` times the parameters of its layers: width and
/// depth grow alike, heads keep their size, vocabulary and sequence stay; of a multimodal model the
/// last tower grows, of a recommender the tables. Errors: `unsupported` for convolutional models.
Result<ModelSpec> scaled(const ModelSpec& model, double factor);

struct LargestModel {
  ModelSpec model;
  double parameters = 0;
  SparedSearch found;  ///< its best plan
  ModelSpec next;      ///< the next step of the family, which does not fit
  double next_parameters = 0;
  std::string why_not;  ///< what the search says of it
};

struct LargestRequest {
  double samples = 0;  ///< of a step; 0: about 4M tokens, or 1024 samples where there are none
  std::vector<std::pair<std::string, std::string>> fixed;  ///< plan keys that must stay so
  std::int64_t max_evaluations = 200'000;                  ///< of each search
};

/// Steps of an eighth of a doubling, found by bisection; every step is a search. Errors: those of
/// scaled(), and of the search where not even a thousandth of the family can be trained.
Result<LargestModel> largest_model(const ModelSpec& family, const Cluster& cluster,
                                   const LargestRequest& request);

}  // namespace tenon::planner
