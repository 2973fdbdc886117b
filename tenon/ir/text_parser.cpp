// Parses graphs: a lexer over lines, then one function for each form.
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "tenon/ir/builder.h"
#include "tenon/ir/text.h"
#include "tenon/ir/verify.h"

namespace tenon {
namespace {

constexpr int kMaxDepth = 256;  // regions inside regions

class Parser {
 public:
  Parser(std::string_view text, const OperatorTable& table, const TensorSource& source)
      : text_(text), table_(table), source_(source) {}

  Result<std::unique_ptr<Graph>> run() {
    auto parsed = graph(0);
    if (parsed.ok()) {
      skip();
      if (at_ == text_.size()) return parsed;
      parsed = invalid("text goes on after the graph");
    }
    return std::move(parsed).error().at(fmt::format("line {}", line_));
  }

 private:
  using Scope = std::unordered_map<std::string, Value*>;

  // ---- words ---------------------------------------------------------------------------------
  void skip() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      if (text_[at_] == '\n') ++line_;
      ++at_;
    }
  }
  bool peek(char c) {
    skip();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) { return peek(c) ? (++at_, true) : false; }
  Status want(char c) {
    if (take(c)) return {};
    return invalid("'{}' is expected before '{}'", c, text_.substr(at_, 12));
  }
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$' ||
           c == '-' || c == '+' || c == '%';
  }
  std::string_view word() {
    skip();
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  std::string_view peek_word() {
    const std::size_t at = at_;
    const int line = line_;
    const std::string_view w = word();
    at_ = at;
    line_ = line;
    return w;
  }
  bool take_word(std::string_view w) { return peek_word() == w ? (word(), true) : false; }
  Result<std::string> quoted() {
    TENON_TRY(want('"'));
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_++];
        if (c == 'n')
          c = '\n';
        else if (c == 'x' && at_ + 2 <= text_.size()) {
          int code = 0;
          std::from_chars(text_.data() + at_, text_.data() + at_ + 2, code, 16);
          c = static_cast<char>(code);
          at_ += 2;
        }
      }
      out += c;
    }
    TENON_TRY(want('"'));
    return out;
  }
  template <class T>
  static Result<T> number(std::string_view w) {
    T v{};
    auto [p, ec] = std::from_chars(w.data(), w.data() + w.size(), v);
    if (w.empty() || ec != std::errc{} || p != w.data() + w.size())
      return invalid("'{}' is no number", w);
    return v;
  }
  static Result<double> real(std::string_view w) {
    if (w == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (w == "inf") return std::numeric_limits<double>::infinity();
    if (w == "-inf") return -std::numeric_limits<double>::infinity();
    return number<double>(w);
  }
  // The text of a type, up to the bracket or parenthesis that closes it.
  Result<Type> type() {
    skip();
    const std::size_t start = at_;
    int depth = 0;
    while (at_ < text_.size() && text_[at_] != '\n') {
      const char c = text_[at_];
      if (depth == 0 && !std::isalnum(static_cast<unsigned char>(c)) && c != '[' && c != '(') break;
      if (c == '[' || c == '(') ++depth;
      if (c == ']' || c == ')') --depth;
      ++at_;
      if (depth == 0 && (c == ']' || c == ')')) break;
    }
    return Type::parse(text_.substr(start, at_ - start));
  }

  // ---- values --------------------------------------------------------------------------------
  struct Declared {
    std::string id, name;
    Type type;
  };
  Result<Declared> declared() {
    Declared d;
    d.id = word();
    if (d.id.empty() || d.id[0] != '%')
      return invalid("a value such as %0 is expected, not '{}'", d.id);
    if (peek('"')) d.name = TENON_TRY(quoted());
    TENON_TRY(want(':'));
    d.type = TENON_TRY(type());
    return d;
  }
  static Status define(Scope& scope, const std::string& id, Value* v) {
    if (!scope.emplace(id, v).second) return invalid("{} is defined twice", id);
    return {};
  }
  Result<Value*> value(const Scope& scope) {
    const std::string id(word());
    if (id == "_") return static_cast<Value*>(nullptr);
    auto it = scope.find(id);
    if (it == scope.end()) return invalid("value {} is read before it is made", id);
    return it->second;
  }
  template <class F>
  Status list(char close, F&& item) {
    if (take(close)) return {};
    do TENON_TRY(item());
    while (take(','));
    return want(close);
  }
  Result<Tensor> elements(const Type& t) {
    auto dims = constant_dims(t.shape());
    if (!t.is_tensor() || !t.ranked() || !dims)
      return invalid("a constant needs a type with sizes, not {}", t.text());
    const std::int64_t n = TENON_TRY(checked_num_elements(*dims));
    TENON_TRY(want('['));
    if (t.dtype() == DType::string) return texts(*dims, n);
    std::vector<std::complex<double>> complexes;
    std::vector<double> reals;
    std::vector<std::int64_t> integers;
    TENON_TRY(list(']', [&]() -> Status {
      const std::string_view w = word();
      if (is_complex(t.dtype()))
        complexes.emplace_back(TENON_TRY(real(w)), TENON_TRY(real(word())));
      else if (is_floating(t.dtype()))
        reals.push_back(TENON_TRY(real(w)));
      else if (t.dtype() == DType::u64)
        integers.push_back(static_cast<std::int64_t>(TENON_TRY(number<std::uint64_t>(w))));
      else
        integers.push_back(TENON_TRY(number<std::int64_t>(w)));
      return {};
    }));
    if (static_cast<std::int64_t>(complexes.size() + reals.size() + integers.size()) != n)
      return invalid("{} elements are given but {} holds {}",
                     complexes.size() + reals.size() + integers.size(), t.text(), n);
    if (is_complex(t.dtype())) return from_complexes(complexes, t.dtype(), *dims);
    return is_floating(t.dtype()) ? from_doubles(reals, t.dtype(), *dims)
                                  : from_int64s(integers, t.dtype(), *dims);
  }
  Result<Tensor> texts(const Dims& dims, std::int64_t n) {
    std::vector<std::string> items;
    TENON_TRY(list(']', [&]() -> Status {
      items.push_back(TENON_TRY(quoted()));
      return {};
    }));
    if (static_cast<std::int64_t>(items.size()) != n)
      return invalid("{} texts are given but the type holds {}", items.size(), n);
    return Tensor::of<std::string>(dims, items);
  }

  // ---- attributes ----------------------------------------------------------------------------
  Result<Attr> attr() {
    if (peek('"')) return Attr(TENON_TRY(quoted()));
    const std::string_view next = peek_word();
    if (next == "true" || next == "false") return Attr(word() == "true");
    if ((next == "i" || next == "r" || next == "t") && text_.substr(skip_to_word() + 1, 1) == "[")
      return attr_list();
    if (auto dtype = dtype_named(next)) {
      const std::size_t at = skip_to_word();
      if (text_.substr(at + next.size(), 1) != "[") return word(), Attr(*dtype);
      const Type t = TENON_TRY(type());
      return Attr(TENON_TRY(elements(t)));
    }
    const std::string_view w = word();
    if (w.find_first_of(".e") != std::string_view::npos || w.ends_with("inf") || w.ends_with("nan"))
      return Attr(TENON_TRY(real(w)));
    return Attr(TENON_TRY(number<std::int64_t>(w)));
  }
  std::size_t skip_to_word() {
    skip();
    return at_;
  }
  Result<Attr> attr_list() {
    const char kind = word()[0];
    TENON_TRY(want('['));
    Attr::Integers integers;
    Attr::Reals reals;
    Attr::Texts items;
    TENON_TRY(list(']', [&]() -> Status {
      if (kind == 'i')
        integers.push_back(TENON_TRY(number<std::int64_t>(word())));
      else if (kind == 'r')
        reals.push_back(TENON_TRY(real(word())));
      else
        items.push_back(TENON_TRY(quoted()));
      return {};
    }));
    if (kind == 'i') return Attr(std::move(integers));
    return kind == 'r' ? Attr(std::move(reals)) : Attr(std::move(items));
  }
  Result<Attrs> attrs() {
    Attrs out;
    if (!take('{')) return out;
    TENON_TRY(list('}', [&]() -> Status {
      const std::string key(word());
      TENON_TRY(want('='));
      out.set(key, TENON_TRY(attr()));
      return {};
    }));
    return out;
  }

  // ---- graphs --------------------------------------------------------------------------------
  Result<std::unique_ptr<Graph>> graph(int depth) {
    if (depth > kMaxDepth) return invalid("regions are nested deeper than {}", kMaxDepth);
    if (!take_word("graph"))
      return invalid("'graph' is expected before '{}'",
                     text_.substr(std::min(at_, text_.size()), 12));
    auto g = std::make_unique<Graph>(TENON_TRY(quoted()));
    Scope scope;
    TENON_TRY(want('('));
    TENON_TRY(list(')', [&]() -> Status {
      Declared d = TENON_TRY(declared());
      return define(scope, d.id, g->add_input(d.name, d.type));
    }));
    TENON_TRY(want('{'));
    bool returned = false;
    while (!take('}')) {
      skip();
      if (at_ == text_.size()) return invalid("the graph is not closed");
      const std::string_view next = peek_word();
      if (next == "const")
        TENON_TRY(constant(*g, scope));
      else if (next == "return")
        TENON_TRY(results(*g, scope)), returned = true;
      else if (next == "assume")
        TENON_TRY(constraint());
      else if (next == "meta")
        TENON_TRY(meta(*g));
      else
        TENON_TRY(node(*g, scope, depth));
    }
    if (!returned) return invalid("the graph returns nothing");
    return g;
  }
  Status constant(Graph& g, Scope& scope) {
    word();
    const bool trainable = take_word("trainable");
    Declared d = TENON_TRY(declared());
    TENON_TRY(want('='));
    Tensor t;
    if (take('@')) {
      const std::string key = TENON_TRY(quoted());
      if (!source_) return not_found("constant {} lies beside the text, under '{}'", d.id, key);
      t = TENON_TRY(source_(key));
      if (!(Type::of(t) == d.type))
        return invalid("constant {} is {} but its data is {}", d.id, d.type.text(),
                       Type::of(t).text());
    } else {
      t = TENON_TRY(elements(d.type));
    }
    Value* v = g.add_constant(d.name, std::move(t));
    v->trainable = trainable;
    return define(scope, d.id, v);
  }
  Status node(Graph& g, Scope& scope, int depth) {
    std::vector<Declared> outs;
    if (peek('%') || peek_word().starts_with('%')) {
      do outs.push_back(TENON_TRY(declared()));
      while (take(','));
      TENON_TRY(want('='));
    }
    const std::string_view op_name = word();
    const Operator* op = table_.find(op_name);
    if (!op) return unsupported("no operator is named '{}'", op_name);
    TENON_TRY(want('('));
    Values inputs;
    TENON_TRY(list(')', [&]() -> Status {
      inputs.push_back(TENON_TRY(value(scope)));
      return {};
    }));
    Attrs attributes = TENON_TRY(attrs());
    std::string label;
    if (take('#')) label = TENON_TRY(quoted());
    Origin origin;
    if (take('(')) {
      origin.file = TENON_TRY(quoted());
      TENON_TRY(want(','));
      origin.index = TENON_TRY(number<int>(word()));
      TENON_TRY(want(','));
      origin.scope = TENON_TRY(quoted());
      TENON_TRY(want(')'));
    }
    std::vector<std::unique_ptr<Graph>> regions;
    if (take_word("regions")) {
      TENON_TRY(want('{'));
      while (!take('}')) regions.push_back(TENON_TRY(graph(depth + 1)));
    }
    Node* n = g.add_node(*op, std::move(inputs), std::move(attributes), std::move(regions),
                         static_cast<int>(outs.size()));
    n->set_name(std::move(label));
    n->set_origin(std::move(origin));
    return define_results(g, scope, *n, outs);
  }
  // Types are inferred again: pages trust them, so they are never taken from the text.
  static Status define_results(Graph& g, Scope& scope, Node& n, const std::vector<Declared>& outs) {
    Types types = TENON_TRY_AT(n.place(), infer(n, &g.constraints()));
    if (types.size() < outs.size())
      return invalid("{} gives {} results, not {} [{}]", n.op().name, types.size(), outs.size(),
                     n.place());
    for (std::size_t i = 0; i < outs.size(); ++i) {
      Value* v = n.output(static_cast<int>(i));
      v->set_name(outs[i].name);
      v->set_type(types[i]);
      TENON_TRY(define(scope, outs[i].id, v));
    }
    if (outs.size() == 1) n.output(0)->set_contents(infer_contents(n));
    return {};
  }
  Status results(Graph& g, const Scope& scope) {
    word();
    if (!peek('%') && !peek_word().starts_with('%')) return {};
    do {
      Value* v = TENON_TRY(value(scope));
      if (!v) return invalid("a graph cannot return an absent value");
      g.add_output(v, TENON_TRY(quoted()));
    } while (take(','));
    return {};
  }
  // Read and forgotten: inference finds the same conditions again.
  Status constraint() {
    word();
    const auto equal = text_.find(" == ", at_), quote = text_.find('"', at_);
    if (equal == std::string_view::npos || quote == std::string_view::npos || quote < equal)
      return invalid("an assumption reads 'assume A == B \"what\" \"where\"'");
    TENON_TRY(Dim::parse(text_.substr(at_, equal - at_)));
    TENON_TRY(Dim::parse(text_.substr(equal + 4, quote - equal - 4)));
    at_ = quote;
    TENON_TRY(quoted());
    TENON_TRY(quoted());
    return {};
  }
  Status meta(Graph& g) {
    word();
    const std::string key = TENON_TRY(quoted());
    TENON_TRY(want('='));
    g.metadata()[key] = TENON_TRY(quoted());
    return {};
  }

  std::string_view text_;
  const OperatorTable& table_;
  const TensorSource& source_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

Result<std::unique_ptr<Graph>> parse_graph(std::string_view text, const OperatorTable& table,
                                           const TensorSource& source) {
  auto graph = TENON_TRY(Parser(text, table, source).run());
  TENON_TRY(verify(*graph));
  return graph;
}

}  // namespace tenon
