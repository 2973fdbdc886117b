// Borrows the run's buffers as tensors, interprets, and copies the results back.
#include "tenon/runtime/interpreted_launch.h"

#include <cstring>

namespace tenon {
namespace {

class InterpretedLaunch : public Launch {
 public:
  InterpretedLaunch(const Node& node, std::vector<Extent> inputs, std::vector<Extent> outputs,
                    RegionExecutor regions)
      : node_(node),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        regions_(std::move(regions)) {}

  Status run(const Frame& frame) const override {
    Datums in;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      in.push_back(inputs_[i].present() ? Datum(borrowed_tensor(inputs_[i], frame.inputs[i]))
                                        : Datum());
    const RegionRunner runner = [&](const Graph& region, Datums values) {
      return regions_(region, std::move(values), frame.pool);
    };
    const Datums out = TENON_TRY(ops::interpret(node_, in, runner));
    for (std::size_t i = 0; i < outputs_.size() && i < out.size(); ++i)
      TENON_TRY(store(out[i], i, frame.outputs[i]));
    return {};
  }

 private:
  Status store(const Datum& value, std::size_t i, std::byte* to) const {
    if (!to) return {};
    if (!value.is_tensor()) return invalid("output {} is no tensor [{}]", i, node_.place());
    const Tensor& t = value.tensor();
    if (t.dtype() != outputs_[i].dtype || t.dims() != outputs_[i].dims)
      return invalid("output {} is {} but {} was inferred [{}]", i, to_text(t.dims()),
                     to_text(outputs_[i].dims), node_.place());
    if (t.bytes()) std::memcpy(to, t.raw(), t.bytes());
    return {};
  }
  const Node& node_;
  std::vector<Extent> inputs_, outputs_;
  RegionExecutor regions_;
};

}  // namespace

Tensor borrowed_tensor(const Extent& extent, const std::byte* data) {
  static const std::shared_ptr<const void> nobody =
      std::make_shared<int>(0);  // the run keeps the memory alive
  return Tensor(extent.dtype, extent.dims, Buffer::borrow(data, extent.bytes(), nobody));
}

std::unique_ptr<Launch> interpreted_launch(const Node& node, std::vector<Extent> inputs,
                                           std::vector<Extent> outputs, RegionExecutor regions) {
  return std::make_unique<InterpretedLaunch>(node, std::move(inputs), std::move(outputs),
                                             std::move(regions));
}

}  // namespace tenon
