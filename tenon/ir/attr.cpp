// Lookup and comparison of attributes.
#include "tenon/ir/attr.h"

#include <algorithm>
#include <cstring>

namespace tenon {
namespace {

bool equal_tensors(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  if (a.dtype() == DType::string)
    return std::ranges::equal(a.data<std::string>(), b.data<std::string>());
  return a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

auto lower(auto& items, std::string_view key) {
  return std::lower_bound(items.begin(), items.end(), key,
                          [](const auto& item, std::string_view k) { return item.first < k; });
}

}  // namespace

bool operator==(const Attr& a, const Attr& b) {
  if (a.value_.index() != b.value_.index()) return false;
  if (const Tensor* t = a.get<Tensor>()) return equal_tensors(*t, *b.get<Tensor>());
  return std::visit(
      [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, Tensor>)
          return false;
        else
          return x == *std::get_if<T>(&b.value_);
      },
      a.value_);
}

std::string_view name(Attr::Kind kind) {
  switch (kind) {
    case Attr::Kind::boolean: return "boolean";
    case Attr::Kind::integer: return "integer";
    case Attr::Kind::real: return "real";
    case Attr::Kind::text: return "text";
    case Attr::Kind::integers: return "integers";
    case Attr::Kind::reals: return "reals";
    case Attr::Kind::texts: return "texts";
    case Attr::Kind::dtype: return "dtype";
    case Attr::Kind::tensor: return "tensor";
  }
  return "unknown";
}

void Attrs::set(std::string_view key, Attr value) {
  auto it = lower(items_, key);
  if (it != items_.end() && it->first == key)
    it->second = std::move(value);
  else
    items_.emplace(it, std::string(key), std::move(value));
}

void Attrs::erase(std::string_view key) {
  std::erase_if(items_, [&](const auto& item) { return item.first == key; });
}

const Attr* Attrs::find(std::string_view key) const {
  auto it = lower(items_, key);
  return it != items_.end() && it->first == key ? &it->second : nullptr;
}

}  // namespace tenon
