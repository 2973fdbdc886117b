// Batch sizes that an exporter baked in: finding them.
#include <algorithm>

#include "tenon/formats/onnx/importer_internal.h"

namespace tenon::onnx {

// A batch counts as baked when every ranked tensor input of two or more axes starts with the same constant.
void Importer::find_baked_batch(Imported& out) {
  BakedBatch baked;
  for (const Value* v : out.graph->inputs()) {
    const Type& t = v->type();
    if (!t.is_tensor() || !t.ranked() || t.ndim() < 2) continue;
    const auto first = t.dim(0).known();
    if (!first || (!baked.inputs.empty() && *first != baked.size)) return;
    baked.size = *first;
    baked.inputs.push_back(v->name());
  }
  if (!baked.inputs.empty()) out.baked_batch = std::move(baked);
}

}  // namespace tenon::onnx
