// Strings, n-grams and encoded pictures.
#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
namespace {

Values string_split(Context& c) {
  Attrs attrs;
  if (c.has_attr("delimiter")) attrs.set("delimiter", c.text("delimiter", ""));
  if (c.has_attr("maxsplit")) attrs.set("maxsplit", c.integer("maxsplit", 0));
  return c.all("string_split", {c.in(0)}, std::move(attrs));
}

Values string_normalizer(Context& c) {
  Attrs attrs{{"case_change_action", c.text("case_change_action", "NONE")},
              {"is_case_sensitive", c.flag("is_case_sensitive", false)}};
  if (c.has_attr("stopwords")) attrs.set("stopwords", c.texts("stopwords"));
  if (c.has_attr("locale")) attrs.set("locale", c.text("locale", ""));
  return {c.op("string_normalizer", {c.in(0)}, std::move(attrs))};
}

Values tfidf(Context& c) {
  Attrs attrs{{"mode", c.text("mode", "TF")}};
  for (const char* list : {"ngram_counts", "ngram_indexes"}) attrs.set(list, c.integers(list));
  for (const char* number : {"min_gram_length", "max_gram_length", "max_skip_count"})
    attrs.set(number, c.integer(number, 0));
  if (c.has_attr("pool_int64s")) attrs.set("pool_int64s", c.integers("pool_int64s"));
  if (c.has_attr("pool_strings")) attrs.set("pool_strings", c.texts("pool_strings"));
  if (c.has_attr("weights")) attrs.set("weights", c.reals("weights"));
  return {c.op("tfidf_vectorizer", {c.in(0)}, std::move(attrs))};
}

}  // namespace

void add_text_rows(Rows& rows) {
  const auto add = [&](std::string_view op, Values (*convert)(Context&), std::string_view page = {},
                       Attrs attrs = {}, int first = 20) {
    rows.push_back({"", op, convert, page, std::move(attrs), first});
  };
  add("StringConcat", renamed, "string_concat");
  add("StringSplit", string_split);
  add("RegexFullMatch", renamed, "regex_full_match", {{"pattern", ""}});
  add("StringNormalizer", string_normalizer, {}, {}, 10);
  add("TfIdfVectorizer", tfidf, {}, {}, 9);
  add("ImageDecoder", renamed, "image_decoder", {{"pixel_format", "RGB"}});
}

}  // namespace tenon::onnx
