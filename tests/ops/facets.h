// Checks of one facet on one sample; each returns "" or what disagrees.
#pragma once

#include "tenon/ir/builder.h"
#include "tenon/ir/operator.h"

namespace tenon::ops {

/// A sample made real: invented input values and a graph with the one call.
class Instance {
 public:
  Instance(const Operator& op, const Sample& sample);
  const Status& status() const { return status_; }
  const Node& node() const { return *node_; }
  const Datums& inputs() const { return inputs_; }
  const Sample& sample() const { return sample_; }
  /// A fresh graph with this call on other input values (shapes may differ; `known` inputs stay
  /// known).
  std::unique_ptr<Graph> graph_for(const Datums& inputs, Status& status) const;
  Result<Datums> run(const Datums& inputs) const;

 private:
  const Operator& op_;
  Sample sample_;
  Datums inputs_;
  std::unique_ptr<Graph> graph_;
  const Node* node_ = nullptr;
  Status status_;
};

/// Floating inputs of the sample as f64, where the page takes f64.
Sample in_double(const Operator& op, const Sample& sample);
/// Largest relative difference; infinity when types, shapes or NaNs disagree.
double distance(const Datum& a, const Datum& b);

std::string check_types(const Instance& x);
std::string check_decomposition(const Instance& x);
std::string check_gradient(const Instance& x);
/// The gradient of a weighted sum of the gradients.
std::string check_second_gradient(const Instance& x);
/// The call in a graph, printed, parsed and printed again.
std::string check_text(const Instance& x);
/// Elementwise pages: the scalar operations that execution counts, and the bytes of the tensors.
std::string check_counted_work(const Instance& x);
std::string check_commutes(const Instance& x);
std::string check_sharding(const Instance& x, int num_peers);
std::string check_cost(const Instance& x);
std::string missing_facets(const Operator& op);

}  // namespace tenon::ops
