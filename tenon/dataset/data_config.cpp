// Keys to options, options to sources.
#include "tenon/dataset/data_config.h"

#include <algorithm>
#include <bit>

#include "tenon/base/object_reader.h"

namespace tenon::dataset {
namespace fs = std::filesystem;
namespace {

struct Reading {
  fs::path folder;
  std::vector<Error> problems;
};

template <class Enum>
void choose(ObjectReader& r, const char* key, const std::vector<std::string>& names, Enum& value) {
  int index = static_cast<int>(value);
  r.choice(key, names, index);
  value = static_cast<Enum>(index);
}

void read_path(Reading& reading, ObjectReader& r, const char* key, fs::path& path) {
  std::string text;
  r.text(key, text);
  if (text.empty()) return;
  const fs::path given(text), below = reading.folder / given;
  std::error_code ignored;
  if (fs::exists(below, ignored))
    path = below;
  else if (fs::exists(given, ignored))
    path = given;
  else
    r.problem(not_found("'{}' names '{}', which does not exist", key, text));
}

// side, or [height, width].
std::pair<int, int> read_size(ObjectReader& r, const char* key = "size") {
  r.require(key);
  const Json* v = r.child(key);
  if (!v) return {1, 1};
  const auto pair = v->is_number_integer()
                        ? Result<std::vector<int>>(std::vector<int>(2, v->get<int>()))
                        : json_as<std::vector<int>>(*v, key);
  if (pair.ok() && pair->size() == 2 && std::min((*pair)[0], (*pair)[1]) > 0 &&
      std::max((*pair)[0], (*pair)[1]) <= (1 << 16))
    return {(*pair)[0], (*pair)[1]};
  r.problem(invalid("'{}' must be one side or [height, width]", key));
  return {1, 1};
}

std::pair<float, float> read_range(ObjectReader& r, const char* key, std::pair<float, float> range,
                                   float low) {
  const Json* v = r.child(key);
  if (!v) return range;
  const auto pair = json_as<std::vector<double>>(*v, key);
  if (pair.ok() && pair->size() == 2 && (*pair)[0] >= low && (*pair)[1] >= (*pair)[0] &&
      (*pair)[1] < 1e6)
    return {static_cast<float>((*pair)[0]), static_cast<float>((*pair)[1])};
  r.problem(invalid("'{}' must be [low, high]", key));
  return range;
}

float read_float(ObjectReader& r, const char* key, double value, double low, double high) {
  r.number(key, value, low, high);
  return static_cast<float>(value);
}

std::vector<float> read_channels(ObjectReader& r, const char* key, float fallback) {
  const Json* v = r.child(key);
  if (!v) return {fallback};
  const auto list = v->is_number()
                        ? Result<std::vector<double>>(std::vector<double>{v->get<double>()})
                        : json_as<std::vector<double>>(*v, key);
  if (list.ok() && !list->empty()) return {list->begin(), list->end()};
  r.problem(invalid("'{}' must be a number or a list of them", key));
  return {fallback};
}

Interpolation read_interpolation(ObjectReader& r) {
  Interpolation how = Interpolation::area;
  choose(r, "interpolation", {"nearest", "bilinear", "area", "bicubic"}, how);
  return how;
}

TransformPtr read_resize(ObjectReader& r) {
  const auto [h, w] = read_size(r);
  bool keep = false;
  r.boolean("keep_ratio", keep);
  return resize_picture(h, w, keep, read_interpolation(r));
}

TransformPtr read_random_crop(ObjectReader& r) {
  const auto [h, w] = read_size(r);
  int padding = 0;
  r.integer("padding", padding, 0, 1 << 12);
  return random_crop(h, w, padding);
}

TransformPtr read_random_resized_crop(ObjectReader& r) {
  const auto [h, w] = read_size(r);
  const auto area = read_range(r, "area", {0.08f, 1.0f}, 1e-6f);
  const auto ratio = read_range(r, "ratio", {0.75f, 4.0f / 3}, 1e-3f);
  return random_resized_crop(h, w, area, ratio, read_interpolation(r));
}

TransformPtr read_normalize(ObjectReader& r) {
  auto mean = read_channels(r, "mean", 0), std = read_channels(r, "std", 1);
  for (float s : std)
    if (s == 0) r.problem(invalid("'std' must not be 0"));
  return normalize_picture(std::move(mean), std::move(std));
}

TransformPtr read_log_mel(ObjectReader& r, const SoundOptions& sound) {
  int window = 512, hop = 256, mels = 40;
  r.integer("window", window, 2, 1 << 16);
  r.integer("hop", hop, 1, 1 << 16);
  r.integer("mels", mels, 1, 1024);
  if (std::has_single_bit(static_cast<unsigned>(window)))
    return log_mel(sound.sample_rate, window, hop, mels);
  r.problem(invalid("'window' must be a power of two, not {}", window));
  return nullptr;
}

TransformPtr read_convert(ObjectReader& r) {
  std::string field, dtype;
  r.require("field");
  r.require("dtype");
  r.text("field", field);
  r.text("dtype", dtype);
  if (const auto type = dtype_named(dtype)) return convert_field(field, *type);
  r.problem(invalid("'dtype' is no element type: {}", dtype));
  return nullptr;
}

TransformPtr read_transform(Reading& reading, const Json& table, const std::string& where,
                            const SoundOptions& sound) {
  static const std::vector<std::string> kinds = {
      "decode",      "resize",       "center_crop", "random_crop",  "random_resized_crop",
      "random_flip", "color_jitter", "normalize",   "random_erase", "log_mel",
      "random_gain", "convert"};
  ObjectReader r(table, where, reading.problems);
  r.require("kind");
  int kind = 0;
  r.choice("kind", kinds, kind);
  const auto made = [&]() -> TransformPtr {
    switch (kind) {
      case 1: return read_resize(r);
      case 2: {
        const auto [h, w] = read_size(r);
        return center_crop(h, w);
      }
      case 3: return read_random_crop(r);
      case 4: return read_random_resized_crop(r);
      case 5: return random_flip(read_float(r, "probability", 0.5, 0, 1));
      case 6: {
        const float b = read_float(r, "brightness", 0, 0, 1),
                    c = read_float(r, "contrast", 0, 0, 1);
        return color_jitter(b, c, read_float(r, "saturation", 0, 0, 1));
      }
      case 7: return read_normalize(r);
      case 8: {
        const float p = read_float(r, "probability", 0.25, 0, 1);
        return random_erase(p, read_range(r, "area", {0.02f, 0.33f}, 1e-6f));
      }
      case 9: return read_log_mel(r, sound);
      case 10: return random_gain(read_float(r, "decibels", 6, 0, 60));
      case 11: return read_convert(r);
      default: return decode_picture();
    }
  }();
  r.finish();
  return made;
}

void read_transforms(Reading& reading, ObjectReader& r, const char* key, const SoundOptions& sound,
                     std::vector<TransformPtr>& out) {
  const Json* list = r.child(key);
  if (!list) return;
  if (!list->is_array())
    return r.problem(invalid("'{}' must be a list of tables, [[data.{}]]", key, key));
  for (std::size_t i = 0; i < list->size(); ++i)
    if (auto t = read_transform(reading, (*list)[i], fmt::format("{}, {}[{}]", r.where(), key, i),
                                sound))
      out.push_back(std::move(t));
}

void read_loader(ObjectReader& r, LoaderOptions& o) {
  r.integer("workers", o.workers, 0, 1024);
  r.integer("prefetch", o.prefetch, 1, 4096);
  r.boolean("shuffle", o.shuffle);
  r.boolean("drop_last", o.drop_last);
  r.integer("bucket_batches", o.bucket_batches, 0, 1 << 20);
  choose(r, "collate", {"pad", "pack"}, o.collate);
  r.integer("pad_multiple", o.pad_multiple, 1, 1 << 20);
  r.number("pad_value", o.pad_value, -1e30);
  r.integer("pack_tokens", o.pack_tokens, 0, std::int64_t{1} << 40);
  choose(r, "on_bad", {"skip", "fail"}, o.on_bad);
  r.integer("max_bad", o.max_bad, 0);
  r.number("timeout_seconds", o.timeout_seconds, 0.001);
}

void read_table(ObjectReader& r, TableOptions& o) {
  r.texts("numeric", o.numeric);
  r.texts("categorical", o.categorical);
  r.text("label", o.label);
  double above = 0;
  r.number("label_above", above, -1e30);
  if (r.has("label_above")) o.label_above = above;
  r.integer("hash_buckets", o.hash_buckets, 0);
}

// [data.classes]: name = "folder" or a list of folders; in the order of the names.
void read_classes(ObjectReader& r, Classes& out) {
  const Json* table = r.child("classes");
  if (!table) return;
  if (!table->is_object()) return r.problem(invalid("'classes' must be a table of folders"));
  for (const auto& [name, folders] : table->items()) {
    const auto list =
        folders.is_string()
            ? Result<std::vector<std::string>>(std::vector<std::string>{folders.get<std::string>()})
            : json_as<std::vector<std::string>>(folders, name);
    if (list.ok() && !list->empty())
      out.push_back({name, *list});
    else
      r.problem(invalid("class '{}' must be a folder or a list of folders", name));
  }
  std::sort(out.begin(), out.end(),
            [](const ClassFolders& a, const ClassFolders& b) { return a.name < b.name; });
}

void read_source(Reading& reading, ObjectReader& r, DataConfig& c) {
  switch (c.kind) {
    case SourceKind::idx:
      for (const auto& [key, value] : {std::pair{"images", &c.images},
                                       {"labels", &c.labels},
                                       {"test_images", &c.test_images},
                                       {"test_labels", &c.test_labels}})
        r.text(key, *value);
      r.require("images");
      r.require("labels");
      break;
    case SourceKind::arrays:
      r.require("files");
      r.texts("files", c.files);
      r.texts("test_files", c.test_files);
      break;
    case SourceKind::image_folder:
      choose(r, "color", {"rgb", "bgr", "gray"}, c.color);
      r.integer("background", c.background, 0, 255);
      read_classes(r, c.classes);
      break;
    case SourceKind::sound_folder:
      r.integer("sample_rate", c.sound.sample_rate, 1, 10'000'000);
      r.number("seconds", c.sound.seconds, 1e-6, 1e5);
      r.boolean("random_start", c.sound.random_start);
      read_classes(r, c.classes);
      break;
    case SourceKind::corpus:
      r.integer("sequence", c.corpus.sequence, 1, 1 << 24);
      r.text("extension", c.corpus.extension);
      r.require("tokenizer");
      read_path(reading, r, "tokenizer", c.tokenizer);
      break;
    case SourceKind::text_folder:
      r.integer("max_length", c.text.max_length, 1, 1 << 24);
      r.boolean("mail", c.text.mail);
      read_classes(r, c.classes);
      r.require("tokenizer");
      read_path(reading, r, "tokenizer", c.tokenizer);
      break;
    case SourceKind::csv:
    case SourceKind::parquet:
    case SourceKind::arrow: read_table(r, c.table); break;
  }
}

Result<SourcePtr> open_arrays(const DataConfig& c, const std::vector<std::string>& files) {
  std::vector<fs::path> arrays;
  std::vector<SourcePtr> shards;
  for (const std::string& file : files) {
    const fs::path path = c.path / file;
    if (path.extension() == ".npy")
      arrays.push_back(path);  // one field each
    else
      shards.push_back(TENON_TRY(array_file_source({path})));
  }
  if (!arrays.empty()) shards.push_back(TENON_TRY(array_file_source(arrays)));
  return concatenated(std::move(shards));
}

// All samples below `path`, before anything is held back.
Result<SourcePtr> open_all(const DataConfig& c, const fs::path& path) {
  switch (c.kind) {
    case SourceKind::idx: return idx_source(path / c.images, path / c.labels);
    case SourceKind::image_folder:
      return image_folder_source(path, c.color, c.background, c.classes);
    case SourceKind::sound_folder: return sound_folder_source(path, c.sound, c.classes);
    case SourceKind::text_folder:
      return text_folder_source(path, TENON_TRY(open_tokenizer(c)), c.text, c.classes);
    case SourceKind::corpus: return corpus_source(path, TENON_TRY(open_tokenizer(c)), c.corpus);
    case SourceKind::csv: return csv_source(path, c.table);
    case SourceKind::parquet: return parquet_source(path, c.table);
    case SourceKind::arrow: return arrow_source(path, c.table);
    case SourceKind::arrays: return open_arrays(c, c.files);
  }
  return invalid("no source");
}

constexpr std::uint64_t kSplitSeed =
    0x7e57;  // fixed: a run with another seed keeps its test samples

}  // namespace

Result<DataConfig> parse_data_config(const Json& data, const fs::path& folder,
                                     const std::string& where) {
  Reading reading{folder, {}};
  DataConfig c;
  ObjectReader r(data, where, reading.problems);
  r.require("kind");
  choose(r, "kind",
         {"idx", "image_folder", "sound_folder", "text_folder", "corpus", "csv", "parquet", "arrow",
          "arrays"},
         c.kind);
  r.require("path");
  read_path(reading, r, "path", c.path);
  read_path(reading, r, "test_path", c.test_path);
  r.number("held_out", c.held_out, 0, 0.99);
  read_source(reading, r, c);
  read_loader(r, c.loader);
  read_transforms(reading, r, "transform", c.sound, c.transforms);
  read_transforms(reading, r, "test_transform", c.sound, c.test_transforms);
  r.finish();
  if (!reading.problems.empty()) return all_of(std::move(reading.problems));
  c.corpus.held_out = c.held_out;
  return c;
}

Result<std::shared_ptr<const Tokenizer>> open_tokenizer(const DataConfig& config) {
  if (config.tokenizer.empty()) return not_found("[data] names no tokenizer");
  return load_tokenizer(config.tokenizer);
}

Result<SourcePtr> open_train_source(const DataConfig& config) {
  SourcePtr all = TENON_TRY(open_all(config, config.path));
  const bool split =
      config.held_out > 0 && config.test_path.empty() && config.kind != SourceKind::corpus;
  return split ? part_of(std::move(all), config.held_out, 1, kSplitSeed) : all;
}

Result<SourcePtr> open_test_source(const DataConfig& config) {
  DataConfig test = config;
  if (!config.test_path.empty()) return open_all(test, config.test_path);
  if (!config.test_images.empty())
    return idx_source(config.path / config.test_images, config.path / config.test_labels);
  if (!config.test_files.empty()) return open_arrays(config, config.test_files);
  if (config.held_out <= 0) return SourcePtr();
  test.corpus.validation = true;
  SourcePtr all = TENON_TRY(open_all(test, config.path));
  return config.kind == SourceKind::corpus
             ? all
             : part_of(std::move(all), 0, config.held_out, kSplitSeed);
}

}  // namespace tenon::dataset
