// Merging of axes.
#include "tenon/codegen/loop_nest.h"

namespace tenon::codegen {
namespace {

bool walks_as_one(const LoopAxes& axes, std::size_t outer, std::size_t inner) {
  for (const auto& s : axes.strides)
    if (s[outer] != s[inner] * axes.sizes[inner]) return false;
  return true;
}

void erase_axis(LoopAxes& axes, std::size_t i) {
  const auto at = static_cast<std::ptrdiff_t>(i);
  axes.sizes.erase(axes.sizes.begin() + at);
  for (auto& s : axes.strides) s.erase(s.begin() + at);
}

}  // namespace

LoopAxes merged(const LoopAxes& given) {
  LoopAxes axes = given;
  const auto kept = [&] { return axes.sizes.size() - static_cast<std::size_t>(axes.num_reduced); };
  for (std::size_t i = axes.sizes.size(); i-- > 0;) {
    if (axes.sizes[i] != 1) continue;
    if (i >= kept()) --axes.num_reduced;
    erase_axis(axes, i);
  }
  for (std::size_t i = axes.sizes.size(); i-- > 1;) {
    if (i == kept() || !walks_as_one(axes, i - 1, i))
      continue;  // a kept and a reduced axis never merge
    if (i >= kept()) --axes.num_reduced;
    axes.sizes[i] *= axes.sizes[i - 1];
    erase_axis(axes, i - 1);
  }
  if (kept() == 0) {
    axes.sizes.insert(axes.sizes.begin(), 1);
    for (auto& s : axes.strides) s.insert(s.begin(), 0);
  }
  return axes;
}

}  // namespace tenon::codegen
