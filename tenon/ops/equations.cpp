// Parsing of einsum equations.
#include "tenon/ops/equations.h"

#include <algorithm>

namespace tenon::ops {
namespace {

struct Term {
  std::string before, after;  // letters around the ellipsis
  bool has_ellipsis = false;
};

Result<Term> parse_term(std::string_view text) {
  Term t;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char ch = text[i];
    if (ch == '.') {
      if (t.has_ellipsis || text.substr(i, 3) != "...")
        return invalid("an ellipsis is three dots, once in a term, but the term is '{}'", text);
      t.has_ellipsis = true;
      i += 2;
    } else if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z')) {
      (t.has_ellipsis ? t.after : t.before) += ch;
    } else {
      return invalid("equations are made of letters, commas, '...' and '->', but '{}' has '{}'",
                     text, ch);
    }
  }
  return t;
}

std::string ellipsis_letters(int n) {
  std::string s;
  for (int i = n - 1; i >= 0; --i) s += static_cast<char>('0' + i);
  return s;
}

std::string implicit_output(const std::string& all, int ellipsis) {
  std::string once;
  for (char ch : all)
    if (ch > '9' && std::count(all.begin(), all.end(), ch) == 1) once += ch;
  std::sort(once.begin(), once.end());
  return ellipsis_letters(ellipsis) + once;
}

std::vector<std::string> split(const std::string& s) {
  std::vector<std::string> out(1);
  for (char ch : s) {
    if (ch == ',')
      out.emplace_back();
    else
      out.back() += ch;
  }
  return out;
}

}  // namespace

std::string distinct(std::string_view text) {
  std::string out;
  for (char ch : text)
    if (out.find(ch) == std::string::npos) out += ch;
  return out;
}

std::string Equation::letters() const {
  std::string all = output;
  for (const auto& in : inputs) all += in;
  return distinct(all);
}

std::string Equation::text() const {
  std::string s;
  for (const auto& in : inputs) s += (s.empty() && &in == &inputs.front() ? "" : ",") + in;
  return s + "->" + output;
}

Result<Equation> parse_equation(std::string_view text, const std::vector<int>& ndims) {
  std::string s(text);
  std::erase(s, ' ');
  const auto arrow = s.find("->");
  const auto terms = split(s.substr(0, arrow));
  if (terms.size() != ndims.size())
    return invalid("the equation has {} operands but {} are given", terms.size(), ndims.size());
  Equation e;
  int ellipsis = 0;
  std::string all;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Term t = TENON_TRY(parse_term(terms[i]));
    const int rest = ndims[i] - static_cast<int>(t.before.size() + t.after.size());
    if (rest < 0 || (rest > 0 && !t.has_ellipsis) || rest > 9)
      return invalid("term '{}' of the equation does not fit {} axes", terms[i], ndims[i]);
    ellipsis = std::max(ellipsis, rest);
    e.inputs.push_back(t.before + ellipsis_letters(rest) + t.after);
    all += e.inputs.back();
  }
  if (arrow == std::string::npos) {
    e.output = implicit_output(all, ellipsis);
    return e;
  }
  const Term t = TENON_TRY(parse_term(std::string_view(s).substr(arrow + 2)));
  e.output = t.before + (t.has_ellipsis ? ellipsis_letters(ellipsis) : "") + t.after;
  for (char ch : e.output)
    if (all.find(ch) == std::string::npos)
      return invalid("letter '{}' of the result is in no operand", ch);
  if (distinct(e.output) != e.output)
    return invalid("a letter occurs twice in the result '{}'", e.output);
  return e;
}

Result<Equation> equation_of(const Call& c) {
  std::vector<int> ndims;
  for (int i = 0; i < c.num_inputs(); ++i) ndims.push_back(c.in(i).ndim());
  return parse_equation(c.text("equation"), ndims);
}

std::string lonely_letters(const Equation& e, std::size_t input) {
  std::string others = e.output, lonely;
  for (std::size_t i = 0; i < e.inputs.size(); ++i)
    if (i != input) others += e.inputs[i];
  for (char ch : distinct(e.inputs[input]))
    if (others.find(ch) == std::string::npos) lonely += ch;
  return lonely;
}

Equation gradient_equation(const Equation& e, std::size_t input) {
  Equation g;
  g.inputs.push_back(e.output);
  for (std::size_t i = 0; i < e.inputs.size(); ++i)
    if (i != input) g.inputs.push_back(e.inputs[i]);
  if (const std::string lonely = lonely_letters(e, input); !lonely.empty())
    g.inputs.push_back(lonely);
  g.output = distinct(e.inputs[input]);
  return g;
}

}  // namespace tenon::ops
