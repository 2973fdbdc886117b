// Prints graphs.
#include <cmath>
#include <unordered_map>

#include "tenon/ir/text.h"

namespace tenon {
namespace {

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      out += c;
  }
  return out + "\"";
}

// Shortest text that reads back to the same double; a float always has a point, an exponent or a
// name.
std::string real_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  std::string s = fmt::format("{}", v);
  return s.find_first_of(".e") == std::string::npos ? s + ".0" : s;
}

std::string element_text(const Tensor& t, std::int64_t i) {
  if (t.dtype() == DType::string) return quoted(t.data<std::string>()[static_cast<std::size_t>(i)]);
  if (is_complex(t.dtype())) {
    const auto z =
        t.dtype() == DType::c64
            ? std::complex<double>(t.data<std::complex<float>>()[static_cast<std::size_t>(i)])
            : t.data<std::complex<double>>()[static_cast<std::size_t>(i)];
    return real_text(z.real()) + " " + real_text(z.imag());
  }
  if (is_floating(t.dtype())) return real_text(element(t, i));
  if (t.dtype() == DType::u64)
    return fmt::format("{}", static_cast<std::uint64_t>(integer_element(t, i)));
  return fmt::format("{}", integer_element(t, i));
}

std::string tensor_text(const Tensor& t) {
  std::string out = "[";
  for (std::int64_t i = 0; i < t.count(); ++i) out += (i ? ", " : "") + element_text(t, i);
  return out + "]";
}

template <class List, class F>
std::string list_text(const List& items, F&& f) {
  std::string out = "[";
  bool first = true;
  for (const auto& x : items) {
    out += (first ? "" : ", ") + f(x);
    first = false;
  }
  return out + "]";
}

std::string attr_text(const Attr& a) {
  switch (a.kind()) {
    case Attr::Kind::boolean: return *a.get<bool>() ? "true" : "false";
    case Attr::Kind::integer: return fmt::format("{}", *a.get<std::int64_t>());
    case Attr::Kind::real: return real_text(*a.get<double>());
    case Attr::Kind::text: return quoted(*a.get<std::string>());
    case Attr::Kind::integers:
      return "i" + list_text(*a.get<Attr::Integers>(),
                             [](std::int64_t v) { return fmt::format("{}", v); });
    case Attr::Kind::reals: return "r" + list_text(*a.get<Attr::Reals>(), real_text);
    case Attr::Kind::texts: return "t" + list_text(*a.get<Attr::Texts>(), quoted);
    case Attr::Kind::dtype: return std::string(name(*a.get<DType>()));
    case Attr::Kind::tensor: {
      const Tensor& t = *a.get<Tensor>();
      return Type::of(t).text() + " " + tensor_text(t);
    }
  }
  return {};
}

class Printer {
 public:
  explicit Printer(const TextOptions& options) : options_(options) {}

  void graph(const Graph& g, int depth) {
    indent(depth);
    out_ += fmt::format("graph {}(", quoted(g.name()));
    for (std::size_t i = 0; i < g.inputs().size(); ++i)
      out_ += (i ? ", " : "") + declared(g.inputs()[i]);
    out_ += ") {\n";
    for (const Value* v : g.constants()) constant(*v, depth + 1);
    for (const Node* n : g.nodes()) node(*n, depth + 1);
    indent(depth + 1);
    out_ += "return";
    for (std::size_t i = 0; i < g.outputs().size(); ++i)
      out_ +=
          fmt::format("{} {} {}", i ? "," : "", id(g.outputs()[i]), quoted(g.output_names()[i]));
    out_ += "\n";
    for (const Constraint& c : g.constraints())
      line(depth + 1, fmt::format("assume {} == {} {} {}", c.left.text(), c.right.text(),
                                  quoted(c.what), quoted(c.where)));
    for (const auto& [key, value] : g.metadata())
      line(depth + 1, fmt::format("meta {} = {}", quoted(key), quoted(value)));
    line(depth, "}");
  }
  std::string take() { return std::move(out_); }

 private:
  void indent(int depth) { out_.append(static_cast<std::size_t>(depth) * 2, ' '); }
  void line(int depth, std::string_view text) {
    indent(depth);
    out_ += text;
    out_ += '\n';
  }
  // Numbered in the order of printing, so that equal graphs print alike whatever their history.
  std::string id(const Value* v) {
    return v ? fmt::format("%{}",
                           numbers_.try_emplace(v, static_cast<int>(numbers_.size())).first->second)
             : "_";
  }
  std::string declared(const Value* v) {
    const std::string label = v->name().empty() ? "" : " " + quoted(v->name());
    return fmt::format("{}{}: {}", id(v), label, v->type().text());
  }
  void constant(const Value& v, int depth) {
    const bool small =
        v.tensor().count() <= options_.max_inline || v.tensor().dtype() == DType::string;
    const std::string data = small          ? tensor_text(v.tensor())
                             : options_.key ? "@" + quoted(options_.key(v))
                                            : "...";
    line(depth,
         fmt::format("const {}{} = {}", v.trainable ? "trainable " : "", declared(&v), data));
  }
  void node(const Node& n, int depth) {
    std::string text;
    for (std::size_t i = 0; i < n.outputs().size(); ++i)
      text += (i ? ", " : "") + declared(n.outputs()[i]);
    text += fmt::format("{}{}(", n.outputs().empty() ? "" : " = ", n.op().name);
    for (std::size_t i = 0; i < n.inputs().size(); ++i) text += (i ? ", " : "") + id(n.inputs()[i]);
    text += ")";
    if (n.attrs().size()) {
      text += " {";
      bool first = true;
      for (const auto& [key, value] : n.attrs()) {
        text += fmt::format("{}{} = {}", first ? "" : ", ", key, attr_text(value));
        first = false;
      }
      text += "}";
    }
    if (!n.name().empty()) text += " #" + quoted(n.name());
    const Origin& o = n.origin();
    if (!o.file.empty() || o.index >= 0 || !o.scope.empty())
      text += fmt::format(" ({}, {}, {})", quoted(o.file), o.index, quoted(o.scope));
    if (n.regions().empty()) return line(depth, text);
    line(depth, text + " regions {");
    for (const auto& r : n.regions()) graph(*r, depth + 1);
    line(depth, "}");
  }

  const TextOptions& options_;
  std::unordered_map<const Value*, int> numbers_;  // looked up only
  std::string out_;
};

}  // namespace

std::string to_text(const Graph& graph, const TextOptions& options) {
  Printer p(options);
  p.graph(graph, 0);
  return p.take();
}

}  // namespace tenon
