// fuse_attention: softmax(modify(q k^T)) v, its scales, masks and the transposes around it become
// one fused node, for a kernel that never writes the scores to memory.
//
//   y = softmax(q k^T * scale + mask) v      the heads' transposes become strides
//
// The transposes that other nodes read too stay outside.
#include <algorithm>

#include "tenon/passes/attention_pattern.h"
#include "tenon/passes/fused_group.h"
#include "tenon/passes/pass.h"

namespace tenon::passes {

Result<int> fuse_attention(Graph& graph, const PassContext& context) {
  int fused = 0;
  for (Node* product = graph.first(); product;) {
    Node* next = product->next();
    if (auto match = match_attention(product)) {
      Node* node = make_fused(graph, match->nodes, {match->result}, match->nodes.back());
      if (context.backend && !context.backend->supports(*node)) {
        graph.erase(node);
      } else {
        while (next &&
               std::find(match->nodes.begin(), match->nodes.end(), next) != match->nodes.end())
          next = next->next();
        replace_by_fused(graph, node, match->nodes, {match->result});
        ++fused;
      }
    }
    product = next;
  }
  return fused;
}

}  // namespace tenon::passes
