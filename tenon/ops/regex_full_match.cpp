// regex_full_match(x; pattern): whether a pattern matches whole texts.
#include <re2/re2.h>

#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

RE2::Options quiet() {
  RE2::Options o;
  o.set_log_errors(false);
  return o;
}

Result<Types> infer(const Call& c) {
  const RE2 pattern(c.text("pattern"), quiet());
  if (!pattern.ok())
    return invalid("regex_full_match: pattern '{}' is no regular expression: {}", c.text("pattern"),
                   pattern.error());
  return Types{c.in(0).with_dtype(DType::boolean)};
}

Result<Datums> eval(const EvalCall& e) {
  const RE2 pattern(e.call.text("pattern"), quiet());
  if (!pattern.ok())
    return invalid("regex_full_match: pattern is no regular expression: {}", pattern.error());
  const auto texts = e.in(0).data<std::string>();
  Tensor y(DType::boolean, e.in(0).dims());
  for (std::size_t i = 0; i < texts.size(); ++i)
    y.data<bool>()[i] = RE2::FullMatch(texts[i], pattern);
  return Datums{Datum(y)};
}

Cost cost(const Call& c) { return {c.in(0).count(), c.bytes_in(), c.bytes_out()}; }

}  // namespace

OpPage regex_full_match() {
  const auto texts = [](std::vector<std::string> v) { return Tensor::vector(v); };
  return {
      .name = "regex_full_match",
      .doc = "y = whether `pattern`, a regular expression in RE2's syntax, matches the whole text",
      .inputs = {{"x", kString}},
      .attrs = {AttrSpec::required("pattern", Attr::Kind::text)},
      .traits = {Trait::text},
      .infer = infer,
      .eval = eval,
      .decompose = none("core: works on text"),
      .gradient = none("text has no derivative"),
      .cost = cost,
      .sharding = factors("... -> ..."),
      .samples = {
          sample({{4}}).given(0, texts({"a1", "b", "", "a1 "})).with({{"pattern", "[a-c]\\d?"}}),
          sample({{2, 4}}).all(DType::string).with({{"pattern", ".*"}}),
          rejects({{2}}, "is no regular expression").all(DType::string).with({{"pattern", "(a"}}),
          rejects({{2}}, "attribute pattern is missing").all(DType::string)}};
}

}  // namespace tenon::ops
