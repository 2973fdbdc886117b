// string_normalizer(x; stopwords, case_change_action, is_case_sensitive, locale): words dropped,
// and letters brought to one case.
#include <utf8proc.h>

#include <algorithm>

#include "tenon/base/unicode.h"
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

enum class Case : std::uint8_t { keep, lower, upper };

Result<Case> case_of(const Call& c) {
  const std::string& action = c.text("case_change_action");
  if (action == "NONE") return Case::keep;
  if (action == "LOWER") return Case::lower;
  if (action == "UPPER") return Case::upper;
  return invalid("string_normalizer: case_change_action is '{}' but must be NONE, LOWER or UPPER",
                 action);
}

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  TENON_TRY(case_of(c));
  if (!x.ranked()) return Types{x};
  TENON_EXPECT(x.ndim() == 1 || (x.ndim() == 2 && x.dim(0).known().value_or(1) == 1),
               "x is [words] or [1, words]", x);
  return Types{x.with_dim(-1, c.fresh_dim("kept"))};
}

// Turkish and Azeri keep the dot of i apart: i and its capital have one, the others none.
std::int32_t changed(std::int32_t code_point, Case to, bool dotted) {
  if (to == Case::lower)
    return dotted && code_point == 'I'     ? 0x131
           : dotted && code_point == 0x130 ? 'i'
                                           : utf8proc_tolower(code_point);
  return dotted && code_point == 'i' ? 0x130 : utf8proc_toupper(code_point);
}

// Bytes that are no UTF-8 stay as they are.
std::string in_case(const std::string& text, Case to, const std::string& locale) {
  if (to == Case::keep) return text;
  auto points = decode_utf8(text);
  if (!points) return text;
  const bool dotted = locale.starts_with("tr") || locale.starts_with("az");
  std::string out;
  for (const char32_t p : *points) {
    // The sharp s is the letter whose capital is two: every locale writes it so.
    if (to == Case::upper && p == 0xdf)
      out += "SS";
    else
      append_utf8(static_cast<std::uint32_t>(changed(static_cast<std::int32_t>(p), to, dotted)),
                  out);
  }
  return out;
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const Case to = TENON_TRY(case_of(e.call));
  const std::string& locale = e.call.text("locale");
  const bool exact = e.call.flag("is_case_sensitive");
  const auto key = [&](const std::string& word) {
    return exact ? word : in_case(word, Case::lower, locale);
  };
  std::vector<std::string> stops, kept;
  if (e.call.has_attr("stopwords"))
    for (const std::string& w : e.call.texts("stopwords")) stops.push_back(key(w));
  std::sort(stops.begin(), stops.end());
  for (const std::string& word : x.data<std::string>())
    if (!std::binary_search(stops.begin(), stops.end(), key(word)))
      kept.push_back(in_case(word, to, locale));
  if (kept.empty()) kept.emplace_back();
  Dims dims = x.dims();
  dims.back() = static_cast<std::int64_t>(kept.size());
  return Datums{Datum(Tensor::of<std::string>(dims, kept))};
}

Cost cost(const Call& c) { return {c.in(0).count(), c.bytes_in(), c.bytes_out()}; }

}  // namespace

OpPage string_normalizer() {
  const auto words = [](std::vector<std::string> v) { return Tensor::vector(v); };
  return {.name = "string_normalizer",
          .doc =
              "the words of x that are none of `stopwords`, in upper or lower case as "
              "case_change_action says; x is [words] or [1, words], and one empty word is left if "
              "none is",
          .inputs = {{"x", kString}},
          .attrs = {AttrSpec::optional("stopwords", Attr::Kind::texts),
                    {"case_change_action", "NONE"},
                    {"is_case_sensitive", false},
                    {"locale", "en_US"}},
          .traits = {Trait::text, Trait::data_dependent},
          .infer = infer,
          .eval = eval,
          .decompose = none("core: works on text"),
          .gradient = none("text has no derivative"),
          .cost = cost,
          .sharding = none("how many words are left depends on the data"),
          .samples = {
              sample({{3}})
                  .given(0, words({"Monday", "tuesday", "\xc3\x84rger"}))
                  .with({{"stopwords", Attr::Texts{"monday"}}, {"case_change_action", "UPPER"}}),
              sample({{2}})
                  .given(0, words({"Monday", "monday"}))
                  .with({{"stopwords", Attr::Texts{"monday"}},
                         {"is_case_sensitive", true},
                         {"case_change_action", "LOWER"}}),
              sample({{1}}).given(0, words({"a"})).with({{"stopwords", Attr::Texts{"a"}}}),
              sample({{1, 4}}).all(DType::string),
              rejects({{2, 3}}, "x is [words] or [1, words]").all(DType::string),
              rejects({{2}}, "must be NONE")
                  .all(DType::string)
                  .with({{"case_change_action", "Title"}})}};
}

}  // namespace tenon::ops
