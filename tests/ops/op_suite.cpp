// The op suite: every facet of every page, on every sample, derived from the registry.
//
// For each sample: inferred against executed types; the decomposition against the meaning;
// gradients and gradients of gradients against central differences in double; the sharding rule on
// 2 and 4 simulated peers; cost against counted execution; text and back; swapped inputs of
// commutative pages; refused samples are refused for the stated reason. One page alone:
// --gtest_filter='*.softmax*'.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tenon/ops/registry.h"
#include "tests/ops/facets.h"

namespace tenon::ops {
namespace {

using Check = std::function<void(const Operator&, const Sample&)>;

class FacetTest : public testing::Test {
 public:
  FacetTest(Check check, const Operator& op, const Sample& sample)
      : check_(std::move(check)), op_(op), sample_(sample) {}
  void TestBody() override { check_(op_, sample_); }

 private:
  Check check_;
  const Operator& op_;
  const Sample& sample_;
};

void refuse(const Operator& op, const Sample& sample) {
  const Instance x(op, sample);
  ASSERT_FALSE(x.status().ok()) << "accepted, but must be refused because "
                                << sample.rejected_because;
  EXPECT_NE(x.status().error().message.find(sample.rejected_because), std::string::npos)
      << x.status().error().text();
}

// A check that answers "" or what disagrees.
template <class F>
Check holds(F facet) {
  return [facet](const Operator& op, const Sample& sample) {
    const Instance x(op, sample);
    ASSERT_TRUE(x.status().ok()) << x.status().error().text();
    EXPECT_EQ(facet(x), "");
  };
}

void add(const char* suite, const Operator& op, std::size_t i, Check check) {
  const std::string name = std::string(op.name) + "_" + std::to_string(i);
  const Sample& s = op.samples[i];
  testing::RegisterTest(suite, name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                        [check = std::move(check), &op, &s]() -> testing::Test* {
                          return new FacetTest(check, op, s);
                        });
}

// Scalar expressions compute with real numbers only.
bool is_real(const Sample& s) {
  return std::none_of(s.inputs.begin(), s.inputs.end(), [](const SampleInput& in) {
    return in.dtype == DType::string || is_complex(in.dtype);
  });
}

// Samples at which a page claims a first gradient only. What is listed here must fail, or it is
// stale.
struct FirstOrderOnly {
  std::string_view op;
  std::size_t sample;
  std::string_view why;
};
constexpr FirstOrderOnly kFirstOrderOnly[] = {
    {"scatter_elements", 3,
     "products with factors 0 are put together without them, which is right for one derivative"},
};

bool claims_second_order(const Operator& op, std::size_t sample) {
  return std::none_of(
      std::begin(kFirstOrderOnly), std::end(kFirstOrderOnly),
      [&](const FirstOrderOnly& f) { return f.op == op.name && f.sample == sample; });
}

void add_sample(const Operator& op, std::size_t i) {
  const Sample& s = op.samples[i];
  if (!s.rejected_because.empty()) return add("Refuses", op, i, refuse);
  add("InfersWhatItExecutes", op, i, holds(check_types));
  if (op.decompose) add("DecomposesToItsMeaning", op, i, holds(check_decomposition));
  add("PrintsAndParses", op, i, holds(check_text));
  if (op.gradient && s.no_gradient_because.empty()) {
    add("GradientEqualsCentralDifferences", op, i,
        [](const Operator& o, const Sample& t) { holds(check_gradient)(o, in_double(o, t)); });
    if (claims_second_order(op, i))
      add("SecondGradientEqualsCentralDifferences", op, i, [](const Operator& o, const Sample& t) {
        holds(check_second_gradient)(o, in_double(o, t));
      });
  }
  if (op.has(Trait::commutative)) add("Commutes", op, i, holds(check_commutes));
  if (op.sharding) {
    add("ShardedOver2EqualsWhole", op, i,
        holds([](const Instance& x) { return check_sharding(x, 2); }));
    add("ShardedOver4EqualsWhole", op, i,
        holds([](const Instance& x) { return check_sharding(x, 4); }));
  }
  if (op.cost) add("CostIsPlausible", op, i, holds(check_cost));
  if (op.cost && op.scalar && is_real(s))
    add("CostIsWhatExecutionCounts", op, i, holds(check_counted_work));
}

TEST(Pages, EveryFacetIsThereOrSaysWhyNot) {
  for (const Operator* op : all()) EXPECT_EQ(missing_facets(*op), "") << op->name;
}

TEST(Pages, FirstOrderOnlyIsNoStaleExcuse) {
  for (const FirstOrderOnly& f : kFirstOrderOnly) {
    const Operator& op = *find(f.op);
    EXPECT_NE(check_second_gradient(Instance(op, in_double(op, op.samples[f.sample]))), "")
        << f.op << ": " << f.why;
  }
}

TEST(Pages, EveryPageHasSamples) {
  // Control flow and random pages take regions or keys that samples cannot say; they have tests of
  // their own.
  for (const Operator* op : all())
    if (!op->has(Trait::control_flow)) EXPECT_FALSE(op->samples.empty()) << op->name;
}

}  // namespace
}  // namespace tenon::ops

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (const tenon::Operator* op : tenon::ops::all())
    for (std::size_t i = 0; i < op->samples.size(); ++i) tenon::ops::add_sample(*op, i);
  return RUN_ALL_TESTS();
}
