// cast_text(x; to): numbers as text, and text as numbers.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const DType to = c.dtype("to"), from = c.in(0).dtype();
  TENON_EXPECT((from == DType::string) != (to == DType::string), "either x or the result is text",
               c.in(0));
  TENON_EXPECT((kNumeric | kBool | kString).has(to), "the result is a number or text");
  return Types{c.in(0).with_dtype(to)};
}

// The shortest text that reads back as the same number, with a point or an exponent, as NumPy
// prints it.
std::string text_of(double v, DType type) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v < 0 ? "-INF" : "INF";
  std::string text =
      type == DType::f64 ? fmt::format("{}", v) : fmt::format("{}", static_cast<float>(v));
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

Tensor to_text_tensor(const Tensor& x) {
  Tensor y(DType::string, x.dims());
  auto out = y.data<std::string>();
  for (std::int64_t i = 0; i < x.count(); ++i) {
    std::string& text = out[static_cast<std::size_t>(i)];
    if (is_floating(x.dtype()))
      text = text_of(element(x, i), x.dtype());
    else if (x.dtype() == DType::u64)
      text = fmt::format("{}", static_cast<std::uint64_t>(integer_element(x, i)));
    else
      text = fmt::format("{}", integer_element(x, i));
  }
  return y;
}

Error no_number(const std::string& text) { return invalid("cast_text: '{}' is no number", text); }

// Plain and scientific notation; NaN and INF in any case.
Result<double> number_of(const std::string& text) {
  std::string_view body = text;
  while (!body.empty() && body.front() == ' ') body.remove_prefix(1);
  while (!body.empty() && body.back() == ' ') body.remove_suffix(1);
  const bool negative = body.starts_with('-');
  if (negative || body.starts_with('+')) body.remove_prefix(1);
  std::string lower(body);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char ch) {
    return ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch - 'A' + 'a') : ch;
  });
  double v = 0;
  if (lower == "nan")
    v = std::numeric_limits<double>::quiet_NaN();
  else if (lower == "inf" || lower == "infinity")
    v = std::numeric_limits<double>::infinity();
  else if (auto [end, problem] = std::from_chars(lower.data(), lower.data() + lower.size(), v);
           problem == std::errc::invalid_argument || end != lower.data() + lower.size() ||
           lower.starts_with('-'))
    return no_number(text);
  else if (problem == std::errc::result_out_of_range)
    v = lower.find("e-") != std::string::npos ? 0 : std::numeric_limits<double>::infinity();
  return negative ? -v : v;
}

Result<std::int64_t> integer_of(const std::string& text, DType to) {
  const char *begin = text.data() + (text.starts_with('+') ? 1 : 0),
             *last = text.data() + text.size();
  if (to == DType::u64) {
    std::uint64_t v = 0;
    if (auto [end, problem] = std::from_chars(begin, last, v);
        problem == std::errc() && end == last && begin != last)
      return static_cast<std::int64_t>(v);
  }
  std::int64_t v = 0;
  if (auto [end, problem] = std::from_chars(begin, last, v);
      problem == std::errc() && end == last && begin != last)
    return v;
  const double real = TENON_TRY(number_of(text));
  if (!(std::fabs(real) < 0x1p63))
    return invalid("cast_text: '{}' does not fit into {}", text, name(to));
  return static_cast<std::int64_t>(real);
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const DType to = e.call.dtype("to");
  if (to == DType::string) return Datums{Datum(to_text_tensor(x))};
  if (is_floating(to)) {
    std::vector<double> y;
    for (const std::string& text : x.data<std::string>()) y.push_back(TENON_TRY(number_of(text)));
    return Datums{Datum(from_doubles(y, to, x.dims()))};
  }
  std::vector<std::int64_t> y;
  for (const std::string& text : x.data<std::string>()) {
    const std::int64_t v = TENON_TRY(integer_of(text, to));
    y.push_back(to == DType::boolean ? v != 0 : v);
  }
  return Datums{Datum(from_int64s(y, to, x.dims()))};
}

// A number takes about 20 operations to write or read.
Cost cost(const Call& c) { return {c.in(0).count() * Dim(20), c.bytes_in(), c.bytes_out()}; }

}  // namespace

OpPage cast_text() {
  const auto texts = [](std::vector<std::string> v) { return Tensor::vector(v); };
  return {.name = "cast_text",
          .doc =
              "y = x with numbers written as text, or text read as numbers: plain and scientific "
              "notation, NaN and INF; reals are written as the shortest text that reads back the "
              "same; text with a fraction read as "
              "an integer truncates toward zero",
          .inputs = {{"x", kNumeric | kBool | kString}},
          .attrs = {AttrSpec::required("to", Attr::Kind::dtype)},
          .traits = {Trait::text},
          .infer = infer,
          .eval = eval,
          .decompose = none("core: works on text"),
          .gradient = none("text has no derivative"),
          .cost = cost,
          .sharding = factors("... -> ..."),
          .samples = {sample({{2, 4}}).with({{"to", DType::string}}),
                      sample({{4}}).all(DType::i32).range(-99, 99).with({{"to", DType::string}}),
                      sample({{4}})
                          .given(0, texts({"3.14", "-1e-5", "NaN", "-INF"}))
                          .with({{"to", DType::f64}}),
                      sample({{3}}).given(0, texts({"42", "-7", "1E3"})).with({{"to", DType::i64}}),
                      rejects({{2}}, "either x or the result is text").with({{"to", DType::f64}})}};
}

}  // namespace tenon::ops
