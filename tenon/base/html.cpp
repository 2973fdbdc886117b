// Page frame, tables and charts. Colours follow the reader's light or dark preference.
#include "tenon/base/html.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "tenon/base/file.h"

namespace tenon {
namespace {

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--fg:#1c1e21;--bg:#fff;--soft:#6b7280;--line:#d5d9e0;--c0:#2563eb;--c1:#d97706;--c2:#059669;--c3:#dc2626;--c4:#7c3aed;--c5:#0891b2}
@media(prefers-color-scheme:dark){:root{--fg:#e5e7eb;--bg:#14161a;--soft:#9ca3af;--line:#343a44;--c0:#60a5fa;--c1:#fbbf24;--c2:#34d399;--c3:#f87171;--c4:#a78bfa;--c5:#22d3ee}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--fg);background:var(--bg);max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:.5rem 0;display:block;overflow-x:auto}td,th{border-bottom:1px solid var(--line);padding:.2rem .7rem .2rem 0;text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}pre{overflow-x:auto;background:color-mix(in srgb,var(--line) 30%,transparent);padding:.6rem}
svg{max-width:100%;height:auto}svg text{fill:var(--fg);font:12px system-ui,sans-serif}svg .soft{fill:var(--soft)}svg .grid{stroke:var(--line)}
)";

constexpr int kColours = 6;

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double v) { low = std::min(low, v), high = std::max(high, v); }
  bool empty() const { return low > high; }
  void widen() {
    if (empty()) low = 0, high = 1;
    if (high - low < 1e-12 * std::max(1.0, std::fabs(high))) low -= 0.5, high += 0.5;
  }
};

struct Frame {  // maps values to the plot area, in pixels
  Range x, y;
  double left = 64, right, top = 28, bottom;
  double px(double v) const { return left + (v - x.low) / (x.high - x.low) * (right - left); }
  double py(double v) const { return bottom - (v - y.low) / (y.high - y.low) * (bottom - top); }
};

double x_at(const Series& s, std::size_t i) {
  return i < s.x.size() ? s.x[i] : static_cast<double>(i);
}

// The y on the chart's axis, NaN for points that have none.
double axis_y(double y, bool log_y) {
  if (!log_y) return std::isfinite(y) ? y : std::nan("");
  return y > 0 && std::isfinite(y) ? std::log10(y) : std::nan("");
}

Frame frame_of(const std::vector<Series>& series, const ChartOptions& o) {
  Frame f;
  f.right = o.width - 16.0;
  f.bottom = o.height - 44.0;
  for (const Series& s : series)
    for (std::size_t i = 0; i < s.y.size(); ++i) {
      const double y = axis_y(s.y[i], o.log_y);
      if (std::isnan(y)) continue;
      f.x.add(x_at(s, i));
      f.y.add(y);
    }
  f.x.widen();
  f.y.widen();
  return f;
}

std::string open_svg(const ChartOptions& o, int height) {
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n"
      "<text x=\"8\" y=\"16\" font-weight=\"600\">{2}</text>\n",
      o.width, height, html_escaped(o.title));
}

std::string axes(const Frame& f, const ChartOptions& o) {
  std::string out;
  for (double t : round_ticks(f.y.low, f.y.high, 5)) {
    if (t < f.y.low || t > f.y.high) continue;
    const std::string label =
        o.log_y ? fmt::format("{:.3g}", std::pow(10.0, t)) : fmt::format("{:.6g}", t);
    out += fmt::format(
        "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        f.left, f.right, f.py(t), f.py(t), f.left - 6, f.py(t) + 4, label);
  }
  for (double t : round_ticks(f.x.low, f.x.high, 8)) {
    if (t < f.x.low || t > f.x.high) continue;
    out += fmt::format(
        "<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.6g}</text>\n",
        f.px(t), f.bottom + 16, t);
  }
  out += fmt::format(
      "<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
      (f.left + f.right) / 2, f.bottom + 34, html_escaped(o.x_label));
  return out +
         fmt::format("<text class=\"soft\" x=\"{:.1f}\" y=\"16\" text-anchor=\"end\">{}</text>\n",
                     f.right, html_escaped(o.y_label));
}

// A curve breaks where a point is missing.
std::string path_of(const Series& s, const Frame& f, bool log_y) {
  std::string d;
  bool pen_down = false;
  for (std::size_t i = 0; i < s.y.size(); ++i) {
    const double y = axis_y(s.y[i], log_y);
    if (std::isnan(y)) {
      pen_down = false;
      continue;
    }
    d += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", f.px(x_at(s, i)), f.py(y));
    pen_down = true;
  }
  return d;
}

bool looks_numeric(std::string_view cell) {
  return !cell.empty() &&
         (std::isdigit(static_cast<unsigned char>(cell[0])) ||
          (cell.size() > 1 && std::string_view("+-.<").find(cell[0]) != std::string_view::npos &&
           std::isdigit(static_cast<unsigned char>(cell[1]))));
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::vector<double> round_ticks(double low, double high, int count) {
  std::vector<double> ticks;
  if (!(high > low) || count < 1) return ticks;
  const double rough = (high - low) / count, power = std::pow(10.0, std::floor(std::log10(rough)));
  const double step = rough <= 1.0001 * power ? power
                      : rough <= 2 * power    ? 2 * power
                      : rough <= 5 * power    ? 5 * power
                                              : 10 * power;
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i <= 2 * count + 2; ++i) {
    const double t = (first + i) * step;
    if (t > high + 1e-9 * step) break;
    ticks.push_back(t == 0 ? 0 : t);  // no minus zero
  }
  return ticks;
}

std::string line_chart(const std::vector<Series>& series, const ChartOptions& o) {
  const Frame f = frame_of(series, o);
  std::string out = open_svg(o, o.height) + axes(f, o);
  double legend_x = f.left;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const auto colour = fmt::format("var(--c{})", i % kColours);
    out += fmt::format("<path fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\" d=\"{}\"/>\n",
                       colour, path_of(series[i], f, o.log_y));
    out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" style=\"fill:{}\">{}</text>\n", legend_x,
                       f.bottom + 34, colour, html_escaped(series[i].name));
    legend_x += 16 + 7.0 * static_cast<double>(series[i].name.size());
  }
  return out + "</svg>\n";
}

std::string bar_chart(const std::vector<std::string>& labels, const std::vector<double>& values,
                      const ChartOptions& o) {
  TENON_CHECK(labels.size() == values.size(), "{} labels for {} bars", labels.size(),
              values.size());
  std::size_t longest = 0;
  double most = 0;
  for (const std::string& l : labels) longest = std::max(longest, l.size());
  for (double v : values) most = std::isfinite(v) ? std::max(most, v) : most;
  const double left = std::min(0.5 * o.width, 16 + 6.6 * static_cast<double>(longest)),
               room = o.width - left - 90;
  const int height = 36 + 20 * static_cast<int>(labels.size());
  std::string out = open_svg(o, height);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double y = 28 + 20.0 * static_cast<double>(i),
                 length = most > 0 && values[i] > 0 && std::isfinite(values[i])
                              ? values[i] / most * room
                              : 0;
    out += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>"
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"14\" fill=\"var(--c0)\"/>"
        "<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\">{:.4g} {}</text>\n",
        left - 6, y + 12, html_escaped(labels[i]), left, y, length, left + length + 5, y + 12,
        values[i], html_escaped(o.y_label));
  }
  return out + "</svg>\n";
}

HtmlPage& HtmlPage::heading(std::string_view text, int level) {
  body_ += fmt::format("<h{0}>{1}</h{0}>\n", level, html_escaped(text));
  return *this;
}

HtmlPage& HtmlPage::paragraph(std::string_view text) {
  return raw("<p>" + html_escaped(text) + "</p>\n");
}

HtmlPage& HtmlPage::preformatted(std::string_view text) {
  return raw("<pre>" + html_escaped(text) + "</pre>\n");
}

HtmlPage& HtmlPage::table(const std::vector<std::string>& header,
                          const std::vector<std::vector<std::string>>& rows) {
  const auto row = [&](const std::vector<std::string>& cells, std::string_view tag) {
    body_ += "<tr>";
    for (const std::string& c : cells)
      body_ += fmt::format("<{0}{1}>{2}</{0}>", tag, looks_numeric(c) ? " class=\"n\"" : "",
                           html_escaped(c));
    body_ += "</tr>\n";
  };
  body_ += "<table>\n";
  if (!header.empty()) row(header, "th");
  for (const auto& cells : rows) row(cells, "td");
  body_ += "</table>\n";
  return *this;
}

HtmlPage& HtmlPage::raw(std::string_view html) {
  body_ += html;
  return *this;
}

std::string HtmlPage::text() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" "
      "content=\"width=device-width\"><title>{0}</title><style>{1}</style></head>\n"
      "<body>\n<h1>{0}</h1>\n{2}</body></html>\n",
      html_escaped(title_), kStyle, body_);
}

Status HtmlPage::write(const std::filesystem::path& path) const {
  return write_file_atomic(path, text());
}

}  // namespace tenon
