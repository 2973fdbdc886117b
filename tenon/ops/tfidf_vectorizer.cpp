// tfidf_vectorizer(x; pool, ...): how often word groups of a pool appear, weighted.
#include <algorithm>
#include <map>

#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

// One column for every n-gram of the pool.
std::int64_t num_columns(const Call& c) {
  const auto& columns = c.integers("ngram_indexes");
  return columns.empty() ? 0 : *std::max_element(columns.begin(), columns.end()) + 1;
}

bool has_words(const Call& c) {
  return c.has_attr("pool_strings") && !c.texts("pool_strings").empty();
}
bool has_weights(const Call& c) { return c.has_attr("weights") && !c.reals("weights").empty(); }

Status check_pool(const Call& c) {
  const bool words = has_words(c),
             numbers = c.has_attr("pool_int64s") && !c.integers("pool_int64s").empty();
  TENON_EXPECT(words != numbers, "one of pool_strings and pool_int64s is given");
  TENON_EXPECT(words == (c.in(0).dtype() == DType::string), "the pool holds what x holds", c.in(0));
  const std::size_t size =
      words ? c.texts("pool_strings").size() : c.integers("pool_int64s").size();
  const auto& starts = c.integers("ngram_counts");
  std::size_t grams = 0;
  for (std::size_t n = 0; n < starts.size(); ++n) {
    const std::int64_t end =
        n + 1 < starts.size() ? starts[n + 1] : static_cast<std::int64_t>(size);
    TENON_EXPECT(starts[n] >= 0 && starts[n] <= end && end <= static_cast<std::int64_t>(size),
                 "ngram_counts are rising positions of the pool");
    grams += static_cast<std::size_t>(end - starts[n]) / (n + 1);
  }
  TENON_EXPECT(c.integers("ngram_indexes").size() >= grams,
               "ngram_indexes has one column for each n-gram");
  for (std::int64_t i : c.integers("ngram_indexes")) TENON_EXPECT(i >= 0, "ngram_indexes >= 0");
  if (has_weights(c))
    TENON_EXPECT(static_cast<std::int64_t>(c.reals("weights").size()) >= num_columns(c),
                 "weights has one number for each column");
  const std::int64_t shortest = c.integer("min_gram_length"),
                     longest = c.integer("max_gram_length");
  TENON_EXPECT(
      shortest >= 1 && shortest <= longest && longest <= static_cast<std::int64_t>(starts.size()),
      "1 <= min_gram_length <= max_gram_length <= lengths in the pool");
  TENON_EXPECT(c.integer("max_skip_count") >= 0, "max_skip_count >= 0");
  const std::string& mode = c.text("mode");
  TENON_EXPECT(mode == "TF" || mode == "IDF" || mode == "TFIDF", "mode is TF, IDF or TFIDF");
  return {};
}

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  TENON_TRY(check_pool(c));
  if (!x.ranked()) return Types{Type::unranked(DType::f32)};
  TENON_EXPECT(x.ndim() == 1 || x.ndim() == 2, "x is [words] or [batch, words]", x);
  Shape out(x.shape().begin(), x.shape().end() - 1);
  out.emplace_back(num_columns(c));
  return Types{Type(DType::f32, out)};
}

// Columns of the pool's n-grams of the lengths asked for.
template <class Word>
std::map<std::vector<Word>, std::int64_t> dictionary(const Call& c, const std::vector<Word>& pool) {
  std::map<std::vector<Word>, std::int64_t> columns;
  const auto& starts = c.integers("ngram_counts");
  std::size_t gram = 0;
  for (std::size_t n = 0; n < starts.size(); ++n) {
    const auto length = static_cast<std::ptrdiff_t>(n + 1);
    const std::ptrdiff_t end =
        n + 1 < starts.size() ? starts[n + 1] : static_cast<std::ptrdiff_t>(pool.size());
    for (std::ptrdiff_t at = starts[n]; at + length <= end; at += length, ++gram)
      if (length >= c.integer("min_gram_length") && length <= c.integer("max_gram_length"))
        columns[std::vector<Word>(pool.begin() + at, pool.begin() + at + length)] =
            c.integers("ngram_indexes")[gram];
  }
  return columns;
}

// Word groups whose members lie 1, 2, ... max_skip_count + 1 apart; single words count once.
template <class Word>
void count_row(const Call& c, const std::map<std::vector<Word>, std::int64_t>& columns,
               const Word* row, std::int64_t size, double* counts) {
  std::int64_t shortest = c.integer("min_gram_length");
  const std::int64_t longest = c.integer("max_gram_length");
  for (std::int64_t apart = 1; apart <= c.integer("max_skip_count") + 1 && shortest <= longest;
       ++apart) {
    for (std::int64_t start = 0; start < size; ++start) {
      std::vector<Word> gram;
      for (std::int64_t at = start; at < size && static_cast<std::int64_t>(gram.size()) < longest;
           at += apart) {
        gram.push_back(row[at]);
        if (static_cast<std::int64_t>(gram.size()) < shortest) continue;
        if (auto found = columns.find(gram); found != columns.end()) counts[found->second] += 1;
      }
    }
    if (shortest == 1) ++shortest;
  }
}

template <class Word>
std::vector<double> count(const Call& c, const std::vector<Word>& pool,
                          const std::vector<Word>& words, std::int64_t rows, std::int64_t width) {
  const auto columns = dictionary(c, pool);
  const std::int64_t n = num_columns(c);
  std::vector<double> counts(static_cast<std::size_t>(rows * n), 0.0);
  for (std::int64_t r = 0; r < rows; ++r)
    count_row(c, columns, words.data() + r * width, width, counts.data() + r * n);
  return counts;
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const Call& c = e.call;
  TENON_TRY(check_pool(c));
  const std::int64_t width = x.dim(-1), rows = x.ndim() == 2 ? x.dim(0) : 1, n = num_columns(c);
  std::vector<double> y;
  if (x.dtype() == DType::string)
    y = count(c, c.texts("pool_strings"),
              std::vector<std::string>(x.data<std::string>().begin(), x.data<std::string>().end()),
              rows, width);
  else
    y = count(c, c.integers("pool_int64s"), to_int64s(x), rows, width);
  const std::string& mode = c.text("mode");
  for (std::size_t k = 0; k < y.size(); ++k) {
    const double weight = has_weights(c) ? c.reals("weights")[k % static_cast<std::size_t>(n)] : 1;
    if (mode == "IDF")
      y[k] = y[k] > 0 ? weight : 0;
    else if (mode == "TFIDF")
      y[k] *= weight;
  }
  Dims dims(x.dims().begin(), x.dims().end() - 1);
  dims.push_back(n);
  return Datums{Datum(from_doubles(y, DType::f32, dims))};
}

// Every start, distance and length is one search among the n-grams, taken as 10 comparisons.
Cost cost(const Call& c) {
  return {
      c.in(0).count() * Dim(10 * (c.integer("max_skip_count") + 1) * c.integer("max_gram_length")),
      c.bytes_in(), c.bytes_out()};
}

Result<Factors> sharding(const Call& c) {
  Factors f = all_whole(c);
  if (c.in(0).ndim() == 2) f.inputs[0][0] = f.outputs[0][0] = "n";
  return f;
}

}  // namespace

OpPage tfidf_vectorizer() {
  const auto attrs = [](const char* mode, std::int64_t shortest, std::int64_t longest,
                        std::int64_t skip) {
    return Attrs{{"mode", mode},
                 {"min_gram_length", shortest},
                 {"max_gram_length", longest},
                 {"max_skip_count", skip},
                 {"ngram_counts", Dims{0, 4}},
                 {"ngram_indexes", Dims{0, 1, 2, 3, 4, 5, 6}},
                 {"pool_int64s", Dims{2, 3, 5, 4, 5, 6, 7, 8, 6, 7}}};
  };
  const Tensor row = Tensor::vector<std::int64_t>({1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8});
  Attrs weighted = attrs("TFIDF", 1, 2, 0), words = attrs("TF", 1, 1, 0);
  weighted.set("weights", Attr::Reals{1, 0.5, 2, 1, 3, 1, 0.25});
  words.erase("pool_int64s");
  words.set("pool_strings", Attr::Texts{"a", "b", "c", "d", "a", "b", "c", "d", "a", "a"});
  return {.name = "tfidf_vectorizer",
          .doc =
              "how often each n-gram of the pool appears in each row of x, in the column "
              "ngram_indexes says; TF gives the count, IDF the weight of those that appear, TFIDF "
              "both multiplied. The pool "
              "lists n-grams one after the other, those of n words from position ngram_counts[n - "
              "1] on; members of an n-gram may lie up to max_skip_count words further apart",
          .inputs = {{"x", kString | kIndex}},
          .attrs = {AttrSpec::required("mode", Attr::Kind::text),
                    AttrSpec::required("min_gram_length", Attr::Kind::integer),
                    AttrSpec::required("max_gram_length", Attr::Kind::integer),
                    AttrSpec::required("max_skip_count", Attr::Kind::integer),
                    AttrSpec::required("ngram_counts", Attr::Kind::integers),
                    AttrSpec::required("ngram_indexes", Attr::Kind::integers),
                    AttrSpec::optional("pool_int64s", Attr::Kind::integers),
                    AttrSpec::optional("pool_strings", Attr::Kind::texts),
                    AttrSpec::optional("weights", Attr::Kind::reals)},
          .traits = {Trait::text},
          .infer = infer,
          .eval = eval,
          .decompose = none("core: searches words"),
          .gradient = none("words have no derivative"),
          .cost = cost,
          .sharding = sharding,
          .samples = {sample({{12}}).given(0, row).with(attrs("TF", 2, 2, 0)),
                      sample({{12}}).given(0, row).with(attrs("TF", 1, 2, 5)),
                      sample({{2, 6}}).given(0, row.reshaped({2, 6})).with(weighted),
                      sample({{4, 3}}).all(DType::string).with(words),
                      rejects({{3}}, "the pool holds what x holds")
                          .all(DType::string)
                          .with(attrs("TF", 1, 2, 0))}};
}

}  // namespace tenon::ops
