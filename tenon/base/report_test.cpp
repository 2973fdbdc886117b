// Pages, traces, logs and progress: what people and their tools read of a run.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/base/html.h"
#include "tenon/base/log.h"
#include "tenon/base/progress.h"
#include "tenon/base/trace.h"

namespace tenon {
namespace {

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(Html, EscapesEveryText) {
  const std::string evil = "<script>alert('\"&')</script>";
  HtmlPage page(evil);
  page.heading(evil)
      .paragraph(evil)
      .preformatted(evil)
      .table({evil}, {{evil}})
      .details(evil, [&](HtmlPage& p) { p.paragraph(evil); });
  page.raw(line_chart({{evil, {}, {1, 2}}}, {.title = evil, .x_label = evil, .y_label = evil}));
  page.raw(bar_chart({evil}, {1}, {.title = evil, .y_label = evil}));
  const std::string text = page.text();
  EXPECT_EQ(text.find("<script"), text.npos);
  EXPECT_EQ(text.find("http"), text.npos) << "a page fetches nothing";
  EXPECT_EQ(count(text, "<table>"), 1u);
}

TEST(Html, NumbersGoToTheRight) {
  HtmlPage page("t");
  page.table({"name", "ms"}, {{"a", "-1.5"}, {"b-1", "- none"}});
  EXPECT_EQ(count(page.text(), "class=\"n\""), 1u);
}

TEST(Chart, CurvesBreakAtMissingPoints) {
  const std::string svg = line_chart({{"loss", {0, 1, 2, 3, 4}, {1, 2, NAN, 4, INFINITY}}}, {});
  const auto d = svg.substr(svg.find(" d=\""));
  EXPECT_EQ(count(d.substr(0, d.find("/>")), "M"), 2u);
  EXPECT_EQ(svg.find("nan"), svg.npos);
  EXPECT_EQ(svg.find("inf"), svg.npos);
  for (const auto& s :
       {line_chart({}, {}), line_chart({{"a", {}, {5, 5}}}, {}),
        line_chart({{"a", {}, {-1, 0}}}, {.log_y = true}), bar_chart({"x"}, {0}, {})})
    EXPECT_EQ(s.find("nan"), s.npos);
}

TEST(Chart, TicksAreRound) {
  EXPECT_EQ(round_ticks(0, 1, 5).size(), 6u);
  EXPECT_EQ(round_ticks(3, 97, 5), (std::vector<double>{20, 40, 60, 80}));
  EXPECT_TRUE(round_ticks(1, 1, 5).empty());
  EXPECT_EQ(round_ticks(-0.05, 0.05, 2), (std::vector<double>{-0.05, 0, 0.05}));
}

TEST(Trace, IsValidJsonInTimeOrder) {
  TraceWriter trace;
  trace.span("b", "op", 0, 1, 10, 5, {{"bytes", 3}});
  trace.span("a\"", "op", 0, 1, 2, 3);
  trace.counter("memory", 0, 4, 100);
  trace.arrow(7, 0, 1, 5, 0, 2, 9);
  trace.instant("now", 0, 1, 3);
  trace.name_thread(0, 1, "worker");
  trace.name_process(0, "p");
  const auto v = parse_json(trace.text());
  ASSERT_TRUE(v.ok()) << v.error().text();
  const Json& events = (*v)["traceEvents"];
  ASSERT_EQ(events.size(), 8u);
  double last = -1;
  for (const Json& e : events) {
    if (e["ph"] == "M") continue;
    EXPECT_GE(e["ts"].get<double>(), last);
    last = e["ts"].get<double>();
  }
  EXPECT_EQ(events[7]["args"]["bytes"], 3);
}

TEST(Log, ChannelsAndLevels) {
  set_log_channels("passes:2,runtime");
  EXPECT_TRUE(log_enabled("passes", 2));
  EXPECT_FALSE(log_enabled("passes", 3));
  EXPECT_TRUE(log_enabled("runtime", 1));
  EXPECT_FALSE(log_enabled("train", 1));
  int evaluated = 0;
  const auto cost = [&] { return ++evaluated; };
  TENON_LOG("train", 1, "{}", cost());
  EXPECT_EQ(evaluated, 0);
  ::testing::internal::CaptureStderr();
  TENON_LOG("passes", 1, "fused {} nodes", 3);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "passes: fused 3 nodes\n");
  set_log_channels("all:1");
  EXPECT_TRUE(log_enabled("train", 1));
  set_log_channels("");
  EXPECT_FALSE(log_enabled("passes", 1));
}

TEST(Progress, TextSaysWhatIsLeft) {
  EXPECT_EQ(progress_text({"train", 10, 40, "loss 1.5"}, 60),
            "train 10/40 25% 03:00 left  loss 1.5");
  EXPECT_EQ(progress_text({"scan", 10, 0, ""}, 60), "scan 10");
  EXPECT_EQ(clock_text(3723), "1:02:03");
  std::FILE* file = std::tmpfile();
  ProgressLine line(file);
  line.show({"train", 1, 2, ""});
  EXPECT_EQ(std::ftell(file), 0) << "nothing where there is no terminal";
  std::fclose(file);
}

}  // namespace
}  // namespace tenon
