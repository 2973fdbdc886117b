// Einsum as matrix products: diagonals, pairwise contraction, and the order of the result.
#include <algorithm>

#include "tenon/ops/equations.h"

namespace tenon::ops {
namespace {

bool has(const std::string& s, char ch) { return s.find(ch) != std::string::npos; }

// An operand on its way: axis i of `value` is letter i.
struct Operand {
  Value* value;
  std::string letters;
  const Dim& dim(char ch) const { return value->type().dim(static_cast<int>(letters.find(ch))); }
};

class Contraction {
 public:
  explicit Contraction(B g) : g_(g) {}

  // x[.., i, .., i, ..]: the diagonal, as a sum over a product with the identity.
  Operand diagonal(Operand x) {
    for (std::size_t i = 0; i < x.letters.size(); ++i)
      for (std::size_t k = x.letters.size(); --k > i;) {
        if (x.letters[i] != x.letters[k]) continue;
        x.value =
            g_.reduce_sum(g_.mul(x.value, identity(x, i, k)),
                          g_.ints({static_cast<std::int64_t>(k)}), Attrs{{"keepdims", false}});
        x.letters.erase(k, 1);
      }
    return x;
  }

  // Sums the axes whose letters `keep` lacks.
  Operand summed(Operand x, const std::string& keep) {
    std::vector<std::int64_t> axes;
    std::string left;
    for (std::size_t i = 0; i < x.letters.size(); ++i) {
      if (has(keep, x.letters[i]))
        left += x.letters[i];
      else
        axes.push_back(static_cast<std::int64_t>(i));
    }
    if (axes.empty()) return x;
    return {g_.reduce_sum(x.value, g_.ints(axes), Attrs{{"keepdims", false}}), left};
  }

  Operand ordered(Operand x, const std::string& letters) {
    if (x.letters == letters) return x;
    std::vector<std::int64_t> perm;
    for (char ch : letters) perm.push_back(static_cast<std::int64_t>(x.letters.find(ch)));
    return {g_.transpose(x.value, Attrs{{"perm", perm}}), letters};
  }

  // The product of a and b with letters outside of `keep` summed.
  Operand product(Operand a, Operand b, const std::string& keep) {
    a = summed(a, keep + b.letters);
    b = summed(b, keep + a.letters);
    stretch(a, b);
    stretch(b, a);
    std::string batch, shared, rows, cols;
    for (char ch : a.letters) (!has(b.letters, ch) ? rows : has(keep, ch) ? batch : shared) += ch;
    for (char ch : b.letters)
      if (!has(a.letters, ch)) cols += ch;
    a = ordered(a, batch + rows + shared);
    b = ordered(b, batch + shared + cols);
    Value* left = shaped(a.value, {{a, batch, false}, {a, rows, true}, {a, shared, true}});
    Value* right = shaped(b.value, {{b, batch, false}, {b, shared, true}, {b, cols, true}});
    Value* y =
        shaped(g_.matmul(left, right), {{a, batch, false}, {a, rows, false}, {b, cols, false}});
    return {y, batch + rows + cols};
  }

 private:
  struct Axes {
    const Operand& from;
    std::string letters;
    bool merged;  // as one axis, of size 1 without letters
  };

  // An axis of size 1 meets a longer one: it is dropped, as the product broadcasts over it.
  void stretch(Operand& a, const Operand& b) {
    std::string keep;
    for (char ch : a.letters)
      if (!has(b.letters, ch) || !(a.dim(ch) == Dim(1)) || b.dim(ch) == Dim(1)) keep += ch;
    a = summed(a, keep);
  }

  Value* identity(const Operand& x, std::size_t i, std::size_t k) {
    const auto size = x.value->type().dim(static_cast<int>(i)).known();
    if (!size) {
      g_.builder().fail(unsupported("einsum: a diagonal of unknown size"));
      return g_.number(1, x.value);
    }
    std::vector<double> eye(static_cast<std::size_t>(*size * *size), 0);
    for (std::int64_t d = 0; d < *size; ++d) eye[static_cast<std::size_t>(d * (*size + 1))] = 1;
    Dims dims(x.letters.size(), 1);
    dims[i] = dims[k] = *size;
    return g_.constant(from_doubles(eye, x.value->type().dtype(), dims));
  }

  // The size of some axes together, as a 1-d value of one element.
  Value* size_value(const Operand& x, const std::string& letters) {
    std::int64_t known = 1;
    Value* rest = nullptr;
    for (char ch : letters) {
      if (auto d = x.dim(ch).known()) {
        known *= *d;
        continue;
      }
      const auto axis = static_cast<std::int64_t>(x.letters.find(ch));
      Value* d = g_.shape(x.value, Attrs{{"start", axis}, {"end", axis + 1}});
      rest = rest ? g_.mul(rest, d) : d;
    }
    if (!rest) return g_.ints({known});
    return known == 1 ? rest : g_.mul(rest, g_.ints({known}));
  }

  Value* shaped(Value* x, const std::vector<Axes>& groups) {
    Values sizes;
    for (const Axes& group : groups) {
      if (group.merged)
        sizes.push_back(size_value(group.from, group.letters));
      else
        for (char ch : group.letters) sizes.push_back(size_value(group.from, std::string(1, ch)));
    }
    if (sizes.empty()) return g_.reshape(x, g_.ints({}));
    return g_.reshape(x, g_.concat(sizes, Attrs{{"axis", 0}}), Attrs{{"allow_zero", true}});
  }

  B g_;
};

}  // namespace

Value* contract_all(B g, const Equation& e, const Values& operands) {
  Contraction contraction(g);
  Operand sum = contraction.diagonal({operands[0], e.inputs[0]});
  for (std::size_t i = 1; i < operands.size(); ++i) {
    std::string keep = e.output;
    for (std::size_t k = i + 1; k < operands.size(); ++k) keep += e.inputs[k];
    sum = contraction.product(sum, contraction.diagonal({operands[i], e.inputs[i]}), keep);
  }
  return contraction.ordered(contraction.summed(sum, e.output), e.output).value;
}

}  // namespace tenon::ops
