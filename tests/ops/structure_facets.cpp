// Text and back, work counted by execution, and what the trait commutative claims.
#include <map>

#include "tenon/ir/graph_json.h"
#include "tenon/ir/text.h"
#include "tenon/ops/interpreter.h"
#include "tenon/ops/registry.h"
#include "tests/ops/facets.h"

namespace tenon::ops {

std::string check_text(const Instance& x) {
  Status status;
  auto graph = x.graph_for(x.inputs(), status);
  for (Value* y : graph->last()->outputs()) graph->add_output(y, fmt::format("y{}", y->index()));
  std::map<std::string, Tensor, std::less<>> beside;
  TextOptions options;
  options.key = [&](const Value& v) {
    const std::string key = fmt::format("c{}", v.id());
    beside.emplace(key, v.tensor());
    return key;
  };
  const std::string once = to_text(*graph, options);
  const TensorSource source = [&](std::string_view key) -> Result<Tensor> {
    auto it = beside.find(key);
    if (it == beside.end()) return not_found("no constant {}", key);
    return it->second;
  };
  auto again = parse_graph(once, table(), source);
  if (!again.ok()) return again.error().text() + "\n" + once;
  const std::string twice = to_text(**again, options);
  if (twice != once) return fmt::format("printed\n{}\nparsed and printed again\n{}", once, twice);
  const std::string json = write_json(to_json(*graph, options), 1);
  auto read = graph_from_json(*parse_json(json), table(), source);
  if (!read.ok()) return read.error().text() + "\n" + json;
  return to_text(**read, options) == once ? "" : "another graph comes back from\n" + json;
}

std::string check_counted_work(const Instance& x) {
  const Operator& op = x.node().op();
  const Call call(x.node());
  Exprs inputs;
  std::vector<Tensor> tensors;
  std::int64_t bytes = 0, operations = 0;
  for (int i = 0; i < call.num_inputs(); ++i) {
    const bool given = call.has(i);
    inputs.push_back(given ? Expr::input(i, call.in(i).dtype()) : Expr());
    tensors.push_back(given ? x.inputs()[static_cast<std::size_t>(i)].tensor() : Tensor());
    if (given) bytes += static_cast<std::int64_t>(tensors.back().bytes());
  }
  const Tensor y = evaluate_scalar(op.scalar(call, inputs), tensors,
                                   *constant_dims(call.out(0).shape()), &operations);
  const Cost cost = op.cost(call);
  if (!(cost.flops == Dim(operations)))
    return fmt::format("{} operations by the page, {} executed", cost.flops.text(), operations);
  if (!(cost.bytes_read == Dim(bytes)))
    return fmt::format("{} bytes read by the page, {} by the inputs", cost.bytes_read.text(),
                       bytes);
  const auto written = static_cast<std::int64_t>(y.bytes());
  return cost.bytes_written == Dim(written)
             ? ""
             : fmt::format("{} bytes written by the page, {} executed", cost.bytes_written.text(),
                           written);
}

std::string check_commutes(const Instance& x) {
  if (x.inputs().size() != 2) return fmt::format("commutative with {} inputs", x.inputs().size());
  auto straight = interpret(x.node(), x.inputs()),
       swapped = interpret(x.node(), {x.inputs()[1], x.inputs()[0]});
  if (!straight.ok()) return straight.error().text();
  if (!swapped.ok()) return swapped.error().text();
  return distance((*straight)[0], (*swapped)[0]) == 0 ? "" : "swapped inputs give another output";
}

}  // namespace tenon::ops
