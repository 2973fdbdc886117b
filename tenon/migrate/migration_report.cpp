// The report of a migration: JSON, terminal and page.
#include <fmt/ranges.h>

#include <algorithm>

#include "tenon/base/html.h"
#include "tenon/machine/host_cpu.h"
#include "tenon/migrate/migration.h"

namespace tenon::migrate {
namespace {

std::map<std::string, int> kernels_by_kind(const engine::CompileReport& report) {
  std::map<std::string, int> kinds;
  for (const auto& [node, kernel] : report.mapping)
    ++kinds[kernel.substr(0, std::min(kernel.find(','), kernel.find(" (")))];
  return kinds;
}

double megabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

std::string accuracy_line(const Migration& m) {
  if (!m.accuracy) return "accuracy     not compared: " + m.accuracy_missing + "\n";
  const Comparison& c = *m.accuracy;
  std::string text =
      fmt::format("accuracy     {} {} on {} values and {} outputs (rtol {}, atol {})\n",
                  c.equal() ? "equal to" : "NOT equal to", c.right, c.layers.size(),
                  c.outputs.size(), c.tolerance.rtol, c.tolerance.atol);
  if (const LayerDistance* w = c.worst())
    text += fmt::format("             worst: {} off by {:.2e} of its largest value\n", w->name,
                        w->max_relative);
  if (const LayerDistance* b = c.first_bad())
    text += fmt::format("             first bad: {} ({}) {}\n", b->name, b->op, b->place);
  return text;
}

// Groups in one line; what stayed apart by its reason, numbers left out, the most frequent first.
std::string fusion_lines(const std::vector<Fusion>& fusions) {
  std::size_t groups = 0, inside = 0;
  std::map<std::string, int> reasons;
  for (const Fusion& f : fusions)
    if (f.done)
      ++groups, inside += f.operators.size();
    else
      ++reasons[f.reason.substr(
          f.reason.find(": ") == std::string::npos ? 0 : f.reason.find(": ") + 2)];
  std::string out;
  if (groups > 0) out += fmt::format("fused        {} groups hold {} operators\n", groups, inside);
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [reason, count] : reasons) order.emplace_back(-count, reason);
  std::sort(order.begin(), order.end());
  for (const auto& [count, reason] : order)
    out += fmt::format("not fused    {:4} x {}\n", -count, reason);
  return out;
}

void fusion_tables(HtmlPage& page, const std::vector<Fusion>& fusions) {
  std::vector<std::vector<std::string>> done, apart;
  for (const Fusion& f : fusions)
    if (f.done)
      done.push_back({f.node, fmt::format("{}", fmt::join(f.operators, ", ")), f.kernel});
    else
      apart.push_back({f.node, f.reader, f.reason});
  page.heading("Fusions").details(fmt::format("{} groups", done.size()), [&](HtmlPage& p) {
    p.table({"node", "operators", "kernel"}, done);
  });
  page.details(fmt::format("{} pairs stayed apart", apart.size()),
               [&](HtmlPage& p) { p.table({"node", "read by", "reason"}, apart); });
}

}  // namespace

Json Migration::json() const {
  Json j = {
      {"schema", "tenon.migrate/1"},   {"model", std::filesystem::path(model).filename().string()},
      {"bundle", bundle.string()},     {"seconds", seconds},
      {"operators", operators_before}, {"notes", notes}};
  j["nodes"] = {{"before", compile.num_nodes_before}, {"after", compile.num_nodes_after}};
  j["passes"] = Json::array();
  for (const auto& p : compile.passes)
    j["passes"].push_back({{"name", p.name}, {"rewrites", p.rewrites}, {"seconds", p.seconds}});
  j["fusions"] = Json::array();
  for (const Fusion& f : fusions)
    j["fusions"].push_back(
        f.done
            ? Json{{"done", true},
                   {"node", f.node},
                   {"kernel", f.kernel},
                   {"operators", f.operators}}
            : Json{{"done", false}, {"node", f.node}, {"reader", f.reader}, {"reason", f.reason}});
  j["mapping"] = Json::array();
  for (const auto& [node, kernel] : compile.mapping)
    j["mapping"].push_back({{"node", node}, {"kernel", kernel}});
  j["fallbacks"] = Json::array();
  for (const auto& f : compile.fallbacks)
    j["fallbacks"].push_back({{"node", f.node}, {"op", f.op}, {"reason", f.reason}});
  j["accuracy"] = accuracy ? accuracy->json() : Json{{"missing", accuracy_missing}};
  j["latency_ms"] = {{"tenon", latency.median_ms}, {"min", latency.min_ms}};
  j["peers"] = Json::array();
  for (const PeerBench& p : peers)
    j["peers"].push_back({{"engine", p.engine},
                          {"median_ms", p.median_ms},
                          {"min_ms", p.min_ms},
                          {"peak_memory_bytes", p.peak_memory_bytes},
                          {"ratio", latency.median_ms / p.median_ms}});
  j["missing_peers"] = missing_peers;
  j["memory"] = {{"weights_bytes", memory.weight_bytes},
                 {"activations_bytes", memory.arena_bytes},
                 {"activations_lower_bound_bytes", memory.lower_bound_bytes},
                 {"activations_without_reuse_bytes", memory.no_reuse_bytes},
                 {"process_peak_bytes", peak_memory_bytes}};
  if (!memory_missing.empty()) j["memory"]["missing"] = memory_missing;
  j["host"] = {{"cpu", host_cpu().model}, {"isa", std::string(name(host_isa()))}};
  return j;
}

std::string Migration::text() const {
  std::string out = fmt::format("model        {}\nbundle       {}\n", model, bundle.string());
  out += fmt::format("nodes        {} in the file, {} after the passes\n", compile.num_nodes_before,
                     compile.num_nodes_after);
  out += fusion_lines(fusions);
  for (const auto& [kind, count] : kernels_by_kind(compile))
    out += fmt::format("mapped       {:4} x {}\n", count, kind);
  for (const auto& f : compile.fallbacks)
    out += fmt::format("interpreted  {} ({}): {}\n", f.node, f.op, f.reason);
  out += accuracy_line(*this);
  out += fmt::format("latency      {:.2f} ms (median of {}, {})\n", latency.median_ms,
                     latency.iterations, name(host_isa()));
  for (const PeerBench& p : peers)
    out += fmt::format("             {:.2f} ms {}: {:.2f}x of it\n", p.median_ms, p.engine,
                       latency.median_ms / p.median_ms);
  for (const std::string& p : missing_peers) out += "             not measured: " + p + "\n";
  if (memory_missing.empty())
    out += fmt::format(
        "memory       {:.1f} MB weights, {:.1f} MB activations ({:.1f} without reuse, at least "
        "{:.1f})\n",
        megabytes(memory.weight_bytes), megabytes(memory.arena_bytes),
        megabytes(memory.no_reuse_bytes), megabytes(memory.lower_bound_bytes));
  else
    out += "memory       activations not planned: " + memory_missing + "\n";
  out += fmt::format("             {:.1f} MB process peak", megabytes(peak_memory_bytes));
  for (const PeerBench& p : peers)
    out += fmt::format(", {:.1f} MB {}", megabytes(p.peak_memory_bytes), p.engine);
  return out + fmt::format("\ntook         {:.1f} s\n", seconds);
}

std::string Migration::html() const {
  HtmlPage page("Migration of " + std::filesystem::path(model).filename().string());
  page.heading("Summary").preformatted(text());
  std::vector<std::string> engines = {"tenon"};
  std::vector<double> times = {latency.median_ms};
  for (const PeerBench& p : peers) engines.push_back(p.engine), times.push_back(p.median_ms);
  ChartOptions chart;
  chart.title = "Median latency, ms (one run, same threads)";
  page.heading("Speed").raw(bar_chart(engines, times, chart));
  page.heading("Accuracy, layer by layer");
  if (!accuracy)
    page.paragraph("Not compared: " + accuracy_missing);
  else {
    std::vector<std::vector<std::string>> rows;
    for (const LayerDistance& d : accuracy->layers)
      rows.push_back({d.name, d.op, fmt::format("{:.2e}", d.max_absolute),
                      fmt::format("{:.2e}", d.max_relative), d.equal ? "equal" : "differs"});
    for (const LayerDistance& d : accuracy->outputs)
      rows.push_back({d.name, "output", fmt::format("{:.2e}", d.max_absolute),
                      fmt::format("{:.2e}", d.max_relative), d.equal ? "equal" : "differs"});
    page.details(fmt::format("{} values against {}", rows.size(), accuracy->right),
                 [&](HtmlPage& p) {
                   p.table({"value", "operator", "largest difference", "relative", ""}, rows);
                 });
  }
  std::vector<std::vector<std::string>> mapped;
  for (const auto& [node, kernel] : compile.mapping) mapped.push_back({node, kernel});
  page.heading("What runs what").details(fmt::format("{} nodes", mapped.size()), [&](HtmlPage& p) {
    p.table({"node", "kernel"}, mapped);
  });
  fusion_tables(page, fusions);
  std::vector<std::vector<std::string>> left;
  for (const auto& f : compile.fallbacks) left.push_back({f.node, f.op, f.reason});
  page.heading("Left to the interpreter");
  if (left.empty())
    page.paragraph("Nothing.");
  else
    page.table({"node", "operator", "reason"}, left);
  std::vector<std::vector<std::string>> passes;
  for (const auto& p : compile.passes)
    passes.push_back(
        {p.name, fmt::format("{}", p.rewrites), fmt::format("{:.1f} ms", p.seconds * 1e3)});
  page.heading("Passes").table({"pass", "rewrites", "time"}, passes);
  return page.text();
}

}  // namespace tenon::migrate
