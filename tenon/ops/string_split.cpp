// string_split(x; delimiter, maxsplit): texts cut into pieces along a new last axis.
#include <algorithm>
#include <limits>

#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked()) return Types{Type::unranked(DType::string), Type::unranked(DType::i64)};
  Shape pieces = x.shape();
  pieces.push_back(c.fresh_dim("pieces"));
  return Types{x.with_shape(pieces), x.with_dtype(DType::i64)};
}

bool is_space(char ch) { return ch == ' ' || (ch >= '\t' && ch <= '\r'); }

// Between runs of white space, none at the ends; the last piece holds all that is left.
std::vector<std::string> split_at_space(std::string_view text, std::int64_t most) {
  std::vector<std::string> pieces;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && is_space(text[at])) ++at;
    if (at == text.size()) return pieces;
    std::size_t end = at;
    if (static_cast<std::int64_t>(pieces.size()) == most) {
      end = text.size();
      while (is_space(text[end - 1])) --end;
      pieces.emplace_back(text.substr(at, end - at));
      return pieces;
    }
    while (end < text.size() && !is_space(text[end])) ++end;
    pieces.emplace_back(text.substr(at, end - at));
    at = end;
  }
}

std::vector<std::string> split_at(std::string_view text, const std::string& delimiter,
                                  std::int64_t most) {
  if (delimiter.empty()) return split_at_space(text, most);
  std::vector<std::string> pieces;
  while (true) {
    const auto end = static_cast<std::int64_t>(pieces.size()) < most ? text.find(delimiter)
                                                                     : std::string_view::npos;
    pieces.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + delimiter.size());
  }
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const std::int64_t most = e.call.has_attr("maxsplit") && e.call.integer("maxsplit") >= 0
                                ? e.call.integer("maxsplit")
                                : std::numeric_limits<std::int64_t>::max();
  std::vector<std::vector<std::string>> all;
  std::size_t width = 0;
  Tensor counts(DType::i64, x.dims());
  for (const std::string& text : x.data<std::string>()) {
    all.push_back(split_at(text, e.call.text("delimiter"), most));
    width = std::max(width, all.back().size());
    counts.data<std::int64_t>()[all.size() - 1] = static_cast<std::int64_t>(all.back().size());
  }
  Dims dims = x.dims();
  dims.push_back(static_cast<std::int64_t>(width));
  Tensor y(DType::string, dims);
  for (std::size_t i = 0; i < all.size(); ++i)
    std::move(all[i].begin(), all[i].end(),
              y.data<std::string>().begin() + static_cast<std::ptrdiff_t>(i * width));
  return Datums{Datum(y), Datum(counts)};
}

Cost cost(const Call& c) { return {c.in(0).count(), c.bytes_in(), c.bytes_out()}; }

}  // namespace

OpPage string_split() {
  const auto texts = [](std::vector<std::string> v) { return Tensor::vector(v); };
  return {.name = "string_split",
          .doc =
              "the pieces of each text between delimiters (between runs of white space if it is "
              "empty), cut at most maxsplit times, along a new last axis filled up with empty "
              "texts; and how many "
              "pieces each has",
          .inputs = {{"x", kString}},
          .outputs = {"pieces", "counts"},
          .attrs = {{"delimiter", ""}, AttrSpec::optional("maxsplit", Attr::Kind::integer)},
          .traits = {Trait::text, Trait::data_dependent},
          .infer = infer,
          .eval = eval,
          .decompose = none("core: works on text"),
          .gradient = none("text has no derivative"),
          .cost = cost,
          .sharding = none("the last size is that of the longest text of all"),
          .samples = {sample({{2}}).given(0, texts({" a  b c ", "d"})),
                      sample({{2}}).given(0, texts({"a-b--c-", ""})).with({{"delimiter", "-"}}),
                      sample({{2}}).given(0, texts({"a b c d", "e f"})).with({{"maxsplit", 2}}),
                      sample({{0}}).all(DType::string), sample({{2, 2}}).all(DType::string)}};
}

}  // namespace tenon::ops
