// Metrics as lines, so that a run that dies leaves everything up to its last step.
#include "tenon/train/run_folder.h"

#include <cstring>
#include <map>

#include "tenon/base/file.h"
#include "tenon/base/html.h"
#include "tenon/base/toml.h"
#include "tenon/formats/checkpoint/checkpoint.h"

namespace tenon::train {
namespace fs = std::filesystem;
namespace {

Status make_folder(const fs::path& path) {
  std::error_code e;
  fs::create_directories(path, e);
  if (e) return io_error("cannot make the folder: {}", e.message()).at(path.string());
  return {};
}

// Whole lines of a metrics file; a last line that a kill cut off is left out.
Result<std::vector<Json>> read_records(const fs::path& file) {
  std::vector<Json> records;
  const std::string text = TENON_TRY(read_file(file));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    auto record = parse_json(std::string_view(text).substr(at, end - at));
    if (record.ok() && record->is_object()) records.push_back(std::move(*record));
    at = end + 1;
  }
  return records;
}

}  // namespace

Status RunFolder::open() {
  TENON_TRY(make_folder(checkpoints()));
  const fs::path file = path_ / "metrics.jsonl";
  metrics_ = std::fopen(file.c_str(), "ab");
  if (!metrics_) return io_error("cannot be opened: {}", std::strerror(errno)).at(file.string());
  events_ = TENON_TRY(EventWriter::create(path_));
  return {};
}

Result<std::unique_ptr<RunFolder>> RunFolder::create(const fs::path& path, const Json& config) {
  std::error_code e;
  if (fs::exists(path / "metrics.jsonl", e) || fs::exists(path / "checkpoints", e))
    return invalid("the folder holds a run already")
        .at(path.string())
        .with_help("go on with --resume, or name another folder with --run");
  TENON_TRY(make_folder(path));
  TENON_TRY(write_file_atomic(path / "train.toml", write_toml(config)));
  std::unique_ptr<RunFolder> folder(new RunFolder(path));
  TENON_TRY(folder->open());
  return folder;
}

Result<std::unique_ptr<RunFolder>> RunFolder::reopen(const fs::path& path, std::int64_t step) {
  const fs::path file = path / "metrics.jsonl";
  std::error_code e;
  if (fs::exists(file, e)) {
    std::string kept;
    for (const Json& r : TENON_TRY(read_records(file)))
      if (r.value("step", std::int64_t{0}) <= step) kept += write_json(r) + "\n";
    TENON_TRY(write_file_atomic(file, kept));
  }
  std::unique_ptr<RunFolder> folder(new RunFolder(path));
  TENON_TRY(folder->open());
  return folder;
}

RunFolder::~RunFolder() {
  if (metrics_) std::fclose(metrics_);
}

Status RunFolder::record(const Json& record) {
  const std::string line = write_json(record) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), metrics_) != line.size() ||
      std::fflush(metrics_) != 0)
    return io_error("metrics.jsonl cannot be written: {}", std::strerror(errno)).at(path_.string());
  std::vector<std::pair<std::string, double>> scalars;
  for (const auto& [key, value] : record.items())
    if (value.is_number() && key != "step") scalars.emplace_back(key, value.get<double>());
  return events_->write(record.value("step", std::int64_t{0}), scalars);
}

Status RunFolder::write_curves() const {
  const auto records = TENON_TRY(read_records(path_ / "metrics.jsonl"));
  return write_file_atomic(path_ / "curves.html", curves_page(path_.filename().string(), records));
}

Status RunFolder::prune(std::int64_t keep) const {
  std::error_code e;
  std::int64_t left = keep;
  for (const fs::path& path : checkpoint::newest_first(checkpoints()))
    if (left-- <= 0) fs::remove_all(path, e);
  for (const auto& entry : fs::directory_iterator(checkpoints(), e))
    if (entry.path().filename().string().find(".tmp-") != std::string::npos)
      fs::remove_all(entry.path(), e);
  return {};
}

std::string curves_page(const std::string& title, const std::vector<Json>& records) {
  // A measure of training and its twin of evaluation share a chart.
  std::map<std::string, std::vector<Series>> charts;
  std::map<std::string, Series> series;
  for (const Json& r : records)
    for (const auto& [key, value] : r.items()) {
      if (!value.is_number() || key == "step" || key == "epoch") continue;
      Series& s = series[key];
      s.name = key;
      s.x.push_back(static_cast<double>(r.value("step", std::int64_t{0})));
      s.y.push_back(value.get<double>());
    }
  for (auto& [key, s] : series)
    charts[key.starts_with("test_") ? key.substr(5) : key].push_back(std::move(s));
  HtmlPage page(title);
  page.heading(title, 1);
  for (const auto& [key, lines] : charts) {
    ChartOptions options;
    options.title = key;
    options.x_label = "step";
    page.raw(line_chart(lines, options));
  }
  return page.text();
}

}  // namespace tenon::train
