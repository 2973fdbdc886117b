// Walks a graph once and collects everything that is wrong.
#include "tenon/ir/verify.h"

#include <algorithm>

#include "tenon/ir/builder.h"

namespace tenon {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph)
      : graph_(graph), made_(static_cast<std::size_t>(graph.num_value_ids()), false) {}

  Status run() {
    for (const Value* v : graph_.inputs()) mark(v);
    for (const Value* v : graph_.constants()) mark(v);
    int count = 0;
    for (const Node* n : graph_.nodes()) {
      check(*n);
      ++count;
    }
    if (count != graph_.num_nodes())
      problem(invalid("{} nodes are linked but {} are counted", count, graph_.num_nodes()));
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i)
      if (const Value* v = graph_.outputs()[i]; v->graph() != &graph_ || !is_made(v))
        problem(invalid("output {} is made by no node", graph_.output_names()[i]));
    if (!first_.ok()) return std::move(first_);
    return {};
  }

 private:
  void problem(Error e) {
    if (first_.ok())
      first_ = Status(std::move(e));
    else
      first_.error().others.push_back(std::move(e));
  }
  void mark(const Value* v) { made_[static_cast<std::size_t>(v->id())] = true; }
  bool is_made(const Value* v) const { return made_[static_cast<std::size_t>(v->id())]; }

  void check(const Node& n) {
    for (std::size_t i = 0; i < n.inputs().size(); ++i) {
      const Value* v = n.inputs()[i];
      if (!v) continue;
      if (v->graph() != &graph_) {
        problem(invalid("input {} belongs to another graph", i).at(n.place()));
        continue;
      }
      if (!is_made(v))
        problem(invalid("input {} ({}) is read before it is made", i, v->name()).at(n.place()));
      if (std::find(v->uses().begin(), v->uses().end(),
                    Value::Use{const_cast<Node*>(&n), static_cast<int>(i)}) == v->uses().end())
        problem(invalid("input {} does not know this use", i).at(n.place()));
    }
    if (Status s = check_call(n.op(), n.inputs(), n.attrs()); !s.ok())
      problem(std::move(s).error().at(n.place()));
    for (const Value* v : n.outputs()) {
      mark(v);
      if (!v->type().defined()) problem(invalid("output {} has no type", v->index()).at(n.place()));
    }
    for (const auto& r : n.regions())
      if (Status s = verify(*r); !s.ok()) problem(std::move(s).error().at(n.place()));
  }

  const Graph& graph_;
  std::vector<bool> made_;
  Status first_;
};

}  // namespace

Status verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace tenon
