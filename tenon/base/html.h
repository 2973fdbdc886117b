// Self-contained HTML pages: headings, tables and SVG charts in one file, no script and no network.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"

namespace tenon {

/// Text with the five characters that HTML gives a meaning replaced.
std::string html_escaped(std::string_view text);

/// A curve or a group of bars. Points whose y is not finite are left out of a curve.
struct Series {
  std::string name;
  std::vector<double> x, y;
};

struct ChartOptions {
  std::string title, x_label, y_label;
  bool log_y = false;  // values <= 0 are left out
  int width = 720, height = 280;
};

/// A line chart; the axes span all points, with round tick values. `x` empty means 0, 1, 2 ...
std::string line_chart(const std::vector<Series>& series, const ChartOptions& options);
/// Horizontal bars, one a label, `values` >= 0.
std::string bar_chart(const std::vector<std::string>& labels, const std::vector<double>& values,
                      const ChartOptions& options);
/// Round values that cover [low, high] in about `count` steps of 1, 2 or 5 times a power of ten.
std::vector<double> round_ticks(double low, double high, int count);

/// Builds a page from top to bottom. Every text is escaped; `raw` takes HTML such as a chart.
class HtmlPage {
 public:
  explicit HtmlPage(std::string title) : title_(std::move(title)) {}
  HtmlPage& heading(std::string_view text, int level = 2);
  HtmlPage& paragraph(std::string_view text);
  HtmlPage& preformatted(std::string_view text);
  /// Numeric-looking cells are set to the right.
  HtmlPage& table(const std::vector<std::string>& header,
                  const std::vector<std::vector<std::string>>& rows);
  /// A block that opens on a click; the content is what `fill` adds.
  template <class Fill>
  HtmlPage& details(std::string_view summary, Fill fill) {
    body_ += "<details><summary>" + html_escaped(summary) + "</summary>\n";
    fill(*this);
    body_ += "</details>\n";
    return *this;
  }
  HtmlPage& raw(std::string_view html);
  std::string text() const;
  Status write(const std::filesystem::path& path) const;

 private:
  std::string title_, body_;
};

}  // namespace tenon
