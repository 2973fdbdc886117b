// Samples, sharding rules and lookups of operator pages.
#include "tenon/ir/operator.h"

#include <algorithm>

namespace tenon {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  for (char c : text) {
    if (c != ' ') {
      word += c;
      continue;
    }
    if (!word.empty()) out.push_back(std::move(word));
    word.clear();
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

std::vector<std::vector<std::string>> tensors(std::string_view text) {
  std::vector<std::vector<std::string>> out;
  std::size_t start = 0;
  while (true) {
    const auto comma = text.find(',', start);
    out.push_back(words(text.substr(start, comma - start)));
    if (comma == std::string_view::npos) return out;
    start = comma + 1;
  }
}

// Names of one tensor's axes; "..." becomes "~k ... ~1", counted from the right so that broadcast
// axes of different tensors meet.
Result<std::vector<std::string>> expand(const std::vector<std::string>& names, const Type& type,
                                        std::string_view op) {
  const bool has_dots = std::find(names.begin(), names.end(), "...") != names.end();
  const int named = static_cast<int>(names.size()) - (has_dots ? 1 : 0), rest = type.ndim() - named;
  if (rest < 0 || (rest > 0 && !has_dots))
    return invalid("{}: sharding rule names {} axes but the shape is {}", op, named,
                   to_text(type.shape()));
  std::vector<std::string> out;
  for (const std::string& n : names) {
    if (n != "...") {
      out.push_back(n == "_" ? "" : n);
      continue;
    }
    for (int k = rest; k > 0; --k) out.push_back(fmt::format("~{}", k));
  }
  for (int i = 0; i < type.ndim(); ++i)  // an axis of size 1 broadcasts and cannot be split
    if (out[static_cast<std::size_t>(i)].starts_with('~') && type.dim(i) == Dim(1))
      out[static_cast<std::size_t>(i)] = "";
  return out;
}

}  // namespace

FactorRule FactorRule::whole(std::string_view names) && {
  for (auto& n : words(names)) whole_.push_back(std::move(n));
  return std::move(*this);
}

FactorRule FactorRule::reduced(std::string_view name, std::string_view how) && {
  reductions_.emplace(name, how);
  return std::move(*this);
}

Result<Factors> FactorRule::resolve(const Call& call) const {
  const auto arrow = text_.find("->");
  TENON_CHECK(arrow != std::string::npos, "sharding rule '{}' of {} has no arrow", text_,
              call.op().name);
  const auto in = tensors(std::string_view(text_).substr(0, arrow)),
             out = tensors(std::string_view(text_).substr(arrow + 2));
  Factors f;
  f.whole_factors = whole_;
  f.reductions = reductions_;
  for (int i = 0; i < call.num_inputs(); ++i) {
    const auto& names = in[std::min(static_cast<std::size_t>(i),
                                    in.size() - 1)];  // the last repeats for variadic inputs
    if (!call.has(i) || !call.in(i).ranked())
      f.inputs.emplace_back();
    else
      f.inputs.push_back(TENON_TRY(expand(names, call.in(i), call.op().name)));
  }
  for (int i = 0; i < call.num_outputs(); ++i) {
    const auto& names = out[std::min(static_cast<std::size_t>(i), out.size() - 1)];
    if (!call.out(i).ranked())
      f.outputs.emplace_back();
    else
      f.outputs.push_back(TENON_TRY(expand(names, call.out(i), call.op().name)));
  }
  return f;
}

bool Operator::has(Trait trait) const {
  if (trait == Trait::elementwise && scalar) return true;
  return std::find(traits.begin(), traits.end(), trait) != traits.end();
}

const AttrSpec* Operator::attr(std::string_view wanted) const {
  auto it =
      std::find_if(attrs.begin(), attrs.end(), [&](const AttrSpec& a) { return a.name == wanted; });
  return it == attrs.end() ? nullptr : &*it;
}

Sample sample(std::vector<Dims> dims) {
  Sample s;
  for (Dims& d : dims) s.inputs.push_back({.dims = std::move(d), .values = {}});
  return s;
}

Sample rejects(std::vector<Dims> dims, std::string fragment) {
  Sample s = sample(std::move(dims));
  s.rejected_because = std::move(fragment);
  return s;
}

Sample Sample::with(Attrs a) && {
  attrs = std::move(a);
  return std::move(*this);
}

Sample Sample::dtypes(std::vector<DType> types) && {
  TENON_CHECK(types.size() == inputs.size(), "{} types for {} inputs", types.size(), inputs.size());
  for (std::size_t i = 0; i < types.size(); ++i) inputs[i].dtype = types[i];
  return std::move(*this);
}

Sample Sample::all(DType type) && {
  for (auto& in : inputs) in.dtype = type;
  return std::move(*this);
}

Sample Sample::range(double low, double high) && {
  for (auto& in : inputs) in.low = low, in.high = high;
  return std::move(*this);
}

Sample Sample::range_of(int input, double low, double high) && {
  inputs[static_cast<std::size_t>(input)].low = low;
  inputs[static_cast<std::size_t>(input)].high = high;
  return std::move(*this);
}

Sample Sample::indices(int input, std::int64_t size) && {
  auto& in = inputs[static_cast<std::size_t>(input)];
  if (!is_integer(in.dtype)) in.dtype = DType::i64;
  in.low = 0;
  in.high = static_cast<double>(size - 1);
  return std::move(*this);
}

Sample Sample::known(int input, Tensor values) && {
  inputs[static_cast<std::size_t>(input)].constant = true;
  return std::move(*this).given(input, std::move(values));
}

Sample Sample::given(int input, Tensor values) && {
  auto& in = inputs[static_cast<std::size_t>(input)];
  in.dims = values.dims();
  in.dtype = values.dtype();
  in.values = std::move(values);
  return std::move(*this);
}

Sample Sample::absent(int input) && {
  inputs[static_cast<std::size_t>(input)].absent = true;
  return std::move(*this);
}
Sample Sample::sequence(int input, std::vector<Tensor> items) && {
  auto& in = inputs[static_cast<std::size_t>(input)];
  in.is_sequence = true;
  in.items = std::move(items);
  return std::move(*this);
}

Sample Sample::optional(int input) && {
  inputs[static_cast<std::size_t>(input)].is_optional = true;
  return std::move(*this);
}
Sample Sample::distinct() && {
  for (auto& in : inputs) in.distinct = true;
  return std::move(*this);
}
Sample Sample::outputs(int n) && {
  num_outputs = n;
  return std::move(*this);
}
Sample Sample::without_gradient(std::string why) && {
  no_gradient_because = std::move(why);
  return std::move(*this);
}
Sample Sample::within(double relative) && {
  tolerance = relative;
  return std::move(*this);
}

}  // namespace tenon
