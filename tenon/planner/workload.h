// What the planner prices: a chain of blocks made of layer classes, each with its operators,
// parameters, kept tensors and communication, all per sample and before any sharding.
//
// A Workload is made from a ModelSpec (workload_from_spec.cpp); a Graph can be turned into the same
// form through its operators' cost and sharding facets. Nothing downstream knows where it came
// from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/planner/model_spec.h"

namespace tenon::planner {

enum class LayerKind { embedding, attention, ffn, experts, head, convolution, table };
std::string_view name(LayerKind kind);

/// What tensor parallelism does to a tensor: nothing, divides it, or divides it only together with
/// sequence parallelism. Context parallelism divides all of them along the tokens.
enum class Split : std::uint8_t { whole, tensor, sequence };

enum class OpKind : std::uint8_t {
  matmul,     // rows x inner by inner x columns
  attention,  // heads of queries against keys
  memory,     // moves bytes
  loss        // softmax cross-entropy over `columns` logits of each row
};

/// One operator; counts are for one sample.
struct LayerOp {
  std::string name;
  OpKind kind = OpKind::memory;
  double rows = 0, inner = 0, columns = 0;
  bool splits_columns = false, splits_inner = false;  // which axis tensor parallelism divides
  int experts = 0;  // grouped product over this many experts, divided by expert parallelism
  double heads = 0, kv_heads = 0, head_dim = 0, value_dim = 0,
         keys = 0;  // attention; rows: queries
  bool causal = false, dropout = false;
  double forward_bytes = 0, backward_bytes = 0;
  Split split = Split::whole;

  /// Floating-point operations forward, one sample; attention counted without its causal mask, as
  /// published model flops are.
  double flops() const;
};

/// A tensor kept from forward to backward.
struct KeptTensor {
  std::string name;
  double bytes = 0;  // one sample
  Split split = Split::whole;
  bool core = false;          // inside the attention core: dropped by selective recomputation
  bool unfused_only = false;  // a fused attention kernel never writes it
};

struct Parameter {
  std::string name;
  double elements = 0;
  bool splits_tensor = false;
  bool expert = false;    // divided by expert parallelism, reduced over fewer replicas
  bool sparse = false;    // looked up by row: only the rows touched have gradients and are updated
  double padded_row = 0;  // elements of one row of a vocabulary table: rows pad to 128 x tensor
};

/// A layer that appears many times (once where it is unique).
struct LayerClass {
  std::string name;
  LayerKind kind = LayerKind::ffn;
  bool trained = true;
  double tokens = 0;  // of one sample
  std::vector<LayerOp> ops;
  std::vector<KeptTensor> kept;
  std::vector<Parameter> parameters;
  double input_bytes = 0;  // what full recomputation keeps; splits with sequence parallelism
  int tensor_reduces = 0;  // all-reduces of `reduce_bytes` over the tensor axis, forward
  int tensor_reduces_backward = 0;
  double reduce_bytes = 0;
  double reduce_bytes_backward = 0;   // where backward differs; 0: the same
  double exchange_bytes = 0;          // expert or table all-to-all, dispatch and return, forward
  int choices = 0;                    // experts that a token goes to, each with a copy of it
  double reachable_share = 1;         // of the experts, those that one token may choose among
  double context_bytes = 0;           // keys and values that a context ring passes on
  double context_exchange_bytes = 0;  // what the all-to-all form moves instead

  double flops() const;
  double num_parameters() const;
};

/// What a pipeline may cut between: a run of layer classes (attention and ffn of one layer).
struct Block {
  std::string name;
  std::vector<int> classes;   // into Workload::classes
  double boundary_bytes = 0;  // passed to the next block, one sample
};

/// A size that tensor parallelism must divide, or that limits another axis.
struct Divisor {
  std::string name;
  std::int64_t size = 0;
};

struct Workload {
  std::string name;
  std::vector<LayerClass> classes;
  std::vector<Block> block_types;
  std::vector<int> blocks;       // the chain, as indices of block_types
  std::vector<int> first;        // classes that join the first stage (embeddings)
  std::vector<int> last;         // classes that join the last stage (head and loss)
  double tokens_per_sample = 0;  // 0: samples have no tokens
  std::vector<Divisor> tensor_divisors;
  std::vector<Divisor> context_divisors;
  int num_experts = 0;
  bool tied_embeddings = false;  // first and last stage share a table and reduce its gradient

  /// All trained and frozen parameters, tied ones once.
  double num_parameters() const;
  /// Model flops of one sample, forward and backward (3 x forward where trained), without
  /// recomputation.
  double model_flops() const;
};

/// The workload of a resolved spec.
Workload workload_of(const ModelSpec& spec);

}  // namespace tenon::planner
