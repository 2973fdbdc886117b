// The keys of recipe.toml; docs/recipes.md lists them for readers.
#include "tenon/dataset/recipe.h"

#include <algorithm>

#include "tenon/base/file.h"
#include "tenon/base/object_reader.h"
#include "tenon/base/toml.h"

namespace tenon::dataset {
namespace fs = std::filesystem;
namespace {

// What all tables of one recipe share while it is read.
struct Reading {
  std::vector<fs::path> folders;
  std::vector<Error> problems;
  std::vector<fs::path> files;
};

template <class Enum>
void choose(ObjectReader& r, const char* key, const std::vector<std::string>& names, Enum& value) {
  int index = static_cast<int>(value);
  r.choice(key, names, index);
  value = static_cast<Enum>(index);
}

// A file below one of the folders.
fs::path find_file(Reading& reading, const std::string& where, const std::string& name) {
  std::optional<Error> refusal;
  for (const fs::path& folder : reading.folders) {
    const auto path = safe_path(folder, name);
    if (!path.ok()) {
      refusal = path.error();
      continue;
    }
    if (!fs::exists(*path)) continue;
    if (std::find(reading.files.begin(), reading.files.end(), *path) == reading.files.end())
      reading.files.push_back(*path);
    return *path;
  }
  Error e = refusal ? std::move(*refusal)
                    : not_found("no file '{}' beside the recipe or the model", name);
  reading.problems.push_back(std::move(e).at(where));
  return {};
}

void read_file_key(Reading& reading, ObjectReader& r, const char* key, fs::path& path) {
  std::string name;
  r.text(key, name);
  if (!name.empty()) path = find_file(reading, r.where(), name);
}

// A number, or a fraction as text: "1/255".
void read_ratio(ObjectReader& r, const char* key, double& value) {
  const Json* v = r.child(key);
  if (!v) return;
  double top = 0, bottom = 1;
  if (v->is_number())
    top = v->get<double>();
  else if (!v->is_string() ||
           std::sscanf(v->get_ref<const std::string&>().c_str(), "%lf/%lf", &top, &bottom) < 1 ||
           bottom == 0)
    return r.problem(invalid("'{}' must be a number or a fraction such as \"1/255\"", key));
  value = top / bottom;
}

// One number for all channels, or a list of them.
void read_numbers(ObjectReader& r, const char* key, std::vector<double>& values) {
  const Json* v = r.child(key);
  if (!v) return;
  auto list = v->is_number() ? Result<std::vector<double>>(std::vector<double>{v->get<double>()})
                             : json_as<std::vector<double>>(*v, key);
  if (!list.ok()) return r.problem(std::move(list).error());
  if (list->size() != 1 && list->size() != 3)
    return r.problem(invalid("'{}' needs one number or three, not {}", key, list->size()));
  values = *list;
}

void read_dims(ObjectReader& r, const char* key, Dims& dims) {
  const Json* v = r.child(key);
  if (!v) return;
  auto list = json_as<Dims>(*v, key);
  if (!list.ok()) return r.problem(std::move(list).error());
  if (std::count(list->begin(), list->end(), -1) > 1 ||
      std::any_of(list->begin(), list->end(), [](auto d) { return d < -1; }))
    return r.problem(invalid("'{}' must hold sizes, with at most one -1", key));
  dims = *list;
}

void read_dtype(ObjectReader& r, std::optional<DType>& dtype) {
  std::string text;
  r.text("dtype", text);
  if (text.empty()) return;
  dtype = dtype_named(text);
  if (!dtype) r.problem(invalid("'dtype' is no element type: {}", text));
}

// size = 224, or [height, width] with 0 for a side that follows.
void read_size(ObjectReader& r, ImageInput& image) {
  const Json* v = r.child("size");
  if (!v) return;
  const auto pair = v->is_number() ? Result<std::vector<int>>(std::vector<int>(
                                         2, v->is_number_integer() ? v->get<int>() : -1))
                                   : json_as<std::vector<int>>(*v, "size");
  if (!pair.ok() || pair->size() != 2 || std::min((*pair)[0], (*pair)[1]) < 0 ||
      std::max((*pair)[0], (*pair)[1]) > (1 << 16))
    return r.problem(invalid("'size' must be one side or [height, width], each at most 65536"));
  image.height = (*pair)[0];
  image.width = (*pair)[1];
}

void read_image(ObjectReader& r, ImageInput& image) {
  read_size(r, image);
  r.integer("longest", image.longest, 1, 1 << 16);
  r.integer("shortest", image.shortest, 1, 1 << 16);
  r.integer("multiple", image.multiple, 1, 1 << 12);
  choose(r, "resize", {"stretch", "fit", "crop"}, image.fit);
  choose(r, "interpolation", {"nearest", "bilinear", "area", "bicubic"}, image.interpolation);
  choose(r, "color", {"rgb", "bgr", "gray"}, image.color);
  int layout = image.channels_first ? 0 : 1;
  r.choice("layout", {"NCHW", "NHWC"}, layout);
  image.channels_first = layout == 0;
  read_numbers(r, "mean", image.mean);
  read_numbers(r, "std", image.std);
  if (std::count(image.std.begin(), image.std.end(), 0.0))
    r.problem(invalid("'std' must not be 0"));
  read_ratio(r, "scale", image.scale);
  r.integer("background", image.background, 0, 255);
  r.integer("pad", image.pad, 0, 255);
  if (image.fit != Fit::stretch && (image.height == 0 || image.width == 0))
    r.problem(invalid("'resize' by fitting or cropping needs a size of both sides"));
}

void read_audio(ObjectReader& r, AudioInput& audio) {
  r.integer("sample_rate", audio.sample_rate, 1, 10'000'000);
  r.integer("frame", audio.frame, 1, 1 << 28);
  audio.hop = audio.frame;
  r.integer("hop", audio.hop, 1, 1 << 28);
  r.integer("context", audio.context, 0, 1 << 20);
  read_ratio(r, "scale", audio.scale);
  r.number("seconds", audio.seconds);
  r.boolean("pad_last", audio.pad_last);
  read_dims(r, "dims", audio.dims);
}

void read_text(Reading& reading, ObjectReader& r, TextInput& text) {
  r.require("tokenizer");
  read_file_key(reading, r, "tokenizer", text.tokenizer);
  r.integer("max_length", text.max_length, 1, 1 << 24);
  int each = text.each_line ? 0 : 1;
  r.choice("each", {"line", "file"}, each);
  text.each_line = each == 0;
  r.text("mask", text.mask_name);
  r.text("types", text.types_name);
}

void flatten(const Json& v, std::vector<double>& out, int depth = 0) {
  if (v.is_array() && depth < 16) {
    for (const Json& item : v) flatten(item, out, depth + 1);
  } else {
    out.push_back(v.is_number() ? v.get<double>() : v.is_boolean() ? v.get<bool>() : std::nan(""));
  }
}

void read_constant(ObjectReader& r, const Json& value, std::optional<DType> dtype,
                   TensorInput& tensor) {
  std::vector<double> values;
  flatten(value, values);
  if (std::any_of(values.begin(), values.end(), [](double v) { return v != v; }))
    return r.problem(invalid("'value' must hold numbers"));
  Dims dims = tensor.dims;
  if (dims.empty() && value.is_array()) dims = {static_cast<std::int64_t>(values.size())};
  const auto count = checked_num_elements(dims);
  if (!count.ok() || *count != static_cast<std::int64_t>(values.size()))
    return r.problem(invalid("'value' holds {} numbers for dims {}", values.size(), to_text(dims)));
  const DType type = dtype.value_or(DType::f32);
  if (type == DType::string || is_complex(type))
    return r.problem(invalid("'value' cannot be of type {}", name(type)));
  tensor.value = from_doubles(values, type, dims);
}

void read_tensor(ObjectReader& r, std::optional<DType> dtype, TensorInput& tensor) {
  r.text("source", tensor.source);
  read_ratio(r, "scale", tensor.scale);
  const Json* offset = r.child("offset");
  if (offset && offset->is_number())
    tensor.offset = offset->get<double>();
  else if (offset)
    r.problem(invalid("'offset' must be a number"));
  r.integer("frame", tensor.frame, 1, 1 << 28);
  tensor.hop = tensor.frame;
  r.integer("hop", tensor.hop, 1, 1 << 28);
  r.boolean("last", tensor.last);
  read_dims(r, "dims", tensor.dims);
  if (const Json* value = r.child("value")) read_constant(r, *value, dtype, tensor);
}

RecipeInput read_input(Reading& reading, const std::string& name, const Json& table,
                       const std::string& where) {
  RecipeInput input;
  input.name = name;
  ObjectReader r(table, fmt::format("{}, input.{}", where, name), reading.problems);
  r.require("kind");
  choose(r, "kind", {"image", "audio", "text", "tensor"}, input.kind);
  read_dtype(r, input.dtype);
  switch (input.kind) {
    case InputKind::image: read_image(r, input.image); break;
    case InputKind::audio: read_audio(r, input.audio); break;
    case InputKind::text: read_text(reading, r, input.text); break;
    case InputKind::tensor: read_tensor(r, input.dtype, input.tensor); break;
  }
  r.finish();
  return input;
}

// A list of texts, or a file of them, one a line.
void read_labels(Reading& reading, ObjectReader& r, std::vector<std::string>& labels) {
  const Json* v = r.child("labels");
  if (!v) return;
  if (!v->is_string()) {
    auto list = json_as<std::vector<std::string>>(*v, "labels");
    if (list.ok())
      labels = *list;
    else
      r.problem(std::move(list).error());
    return;
  }
  const fs::path path = find_file(reading, r.where(), v->get<std::string>());
  if (path.empty()) return;
  const auto text = read_file(path, std::size_t{64} << 20);
  if (!text.ok()) return r.problem(text.error());
  std::string_view rest = *text;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    labels.emplace_back(line);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
}

void read_grids(ObjectReader& r, std::vector<std::vector<int>>& grids) {
  const Json* v = r.child("grids");
  if (!v) return;
  auto list = json_as<std::vector<std::vector<int>>>(*v, "grids");
  if (!list.ok()) return r.problem(std::move(list).error());
  for (const auto& g : *list)
    if (g.size() != 2 || g[0] < 1 || g[0] > 4096 || g[1] < 1 || g[1] > 64)
      return r.problem(invalid("'grids' needs pairs of cells and anchors"));
  grids = *list;
}

// One name or a list of them.
void read_names(ObjectReader& r, const char* key, std::vector<std::string>& names) {
  const Json* v = r.child(key);
  if (v && v->is_string())
    names = {v->get<std::string>()};
  else
    r.texts(key, names);
}

void read_boxes(ObjectReader& r, RecipeOutput& out) {
  choose(r, "format", {"map", "xyxy", "xywh", "cxcywh", "yolo", "anchors"}, out.format);
  read_names(r, "boxes", out.boxes);
  read_names(r, "scores", out.scores);
  read_grids(r, out.grids);
  r.number("box_scale", out.box_scale, 1e-9);
  r.boolean("relative", out.relative);
  r.number("nms", out.nms, 0, 1);
  r.number("box_threshold", out.box_threshold, 0, 1);
  r.number("unclip", out.unclip, 0, 10);
  r.integer("max_boxes", out.max_boxes, 1, 10000);
  const bool two = out.format != BoxFormat::map && out.format != BoxFormat::yolo;
  if (two && (out.boxes.empty() || out.scores.empty()))
    r.problem(invalid("'boxes' and 'scores' must name the outputs"));
  if (out.format == BoxFormat::anchors && out.grids.empty())
    r.problem(invalid("'grids' is missing"));
}

RecipeOutput read_output(Reading& reading, const Json& table, const std::string& where) {
  RecipeOutput out;
  ObjectReader r(table, where + ", output", reading.problems);
  choose(r, "decoder", {"classes", "boxes", "ctc", "text", "embedding", "mask", "raw"},
         out.decoder);
  r.text("tensor", out.tensor);
  read_labels(reading, r, out.labels);
  out.threshold = out.decoder == Decoder::boxes ? 0.3 : 0;
  r.number("threshold", out.threshold, -1e30);
  r.integer("top_k", out.top_k, 1, 1 << 20);
  r.boolean("softmax", out.softmax);
  r.boolean("sigmoid", out.sigmoid);
  if (out.decoder == Decoder::boxes) read_boxes(r, out);
  if (out.decoder == Decoder::ctc) {
    r.integer("blank", out.blank, 0, 1 << 24);
    r.boolean("space", out.space);
    r.require("labels");
  }
  if (out.decoder == Decoder::text) {
    r.require("tokenizer");
    read_file_key(reading, r, "tokenizer", out.tokenizer);
  }
  if (out.decoder == Decoder::embedding) {
    choose(r, "pooling", {"mean", "cls", "none"}, out.pooling);
    r.boolean("normalize", out.normalize);
  }
  if (out.decoder == Decoder::mask) r.boolean("stretch_values", out.stretch_values);
  r.finish();
  return out;
}

StateLink read_state(Reading& reading, const Json& table, const std::string& where) {
  StateLink link;
  ObjectReader r(table, where, reading.problems);
  for (const char* key : {"input", "output", "dims"}) r.require(key);
  r.text("input", link.input);
  r.text("output", link.output);
  read_dims(r, "dims", link.dims);
  std::optional<DType> dtype;
  read_dtype(r, dtype);
  link.dtype = dtype.value_or(DType::f32);
  const auto count = checked_num_elements(link.dims);
  if (!count.ok() || *count > (1 << 28))
    r.problem(invalid("'dims' of a state must be known and small"));
  r.finish();
  return link;
}

Stage read_stage(Reading& reading, const Json& table, const std::string& where, bool first) {
  Stage stage;
  ObjectReader r(table, where, reading.problems);
  r.text("model", stage.model);
  std::string from;
  r.text("from", from);
  stage.cut_boxes = from == "boxes";
  if (!from.empty() && (from != "boxes" || first))
    r.problem(invalid("'from' can only be \"boxes\", in a later stage"));
  if (const Json* inputs = r.child("input"); inputs && inputs->is_object()) {
    for (const auto& [name, input] : inputs->items())
      stage.inputs.push_back(read_input(reading, name, input, where));
  } else {
    r.problem(invalid("no [input.NAME]"));
  }
  if (const Json* states = r.child("state"); states && states->is_array())
    for (const Json& s : *states)
      stage.states.push_back(
          read_state(reading, s, fmt::format("{}, state[{}]", where, stage.states.size())));
  if (const Json* output = r.child("output")) stage.output = read_output(reading, *output, where);
  r.finish();
  return stage;
}

}  // namespace

Result<Recipe> parse_recipe(const Json& toml, const std::vector<fs::path>& folders,
                            const std::string& where) {
  Reading reading{folders, {}, {}};
  Recipe recipe;
  if (toml.is_object() && toml.contains("stage") && toml["stage"].is_array()) {
    ObjectReader r(toml, where, reading.problems);
    for (const Json& stage : *r.child("stage"))
      recipe.stages.push_back(read_stage(reading, stage,
                                         fmt::format("{}, stage[{}]", where, recipe.stages.size()),
                                         recipe.stages.empty()));
    r.finish();
  } else {
    recipe.stages.push_back(read_stage(reading, toml, where, true));
  }
  for (std::size_t i = 0; i + 1 < recipe.stages.size(); ++i)
    if (recipe.stages[i + 1].cut_boxes && recipe.stages[i].output.decoder != Decoder::boxes)
      reading.problems.push_back(
          invalid("stage[{}] cuts boxes but the stage before finds none", i + 1).at(where));
  if (!reading.problems.empty()) return all_of(std::move(reading.problems));
  recipe.files = std::move(reading.files);
  return recipe;
}

Result<Recipe> read_recipe(const fs::path& path, const std::vector<fs::path>& folders) {
  const Json toml = TENON_TRY(read_toml(path));
  std::vector<fs::path> all = {path.parent_path().empty() ? fs::path(".") : path.parent_path()};
  all.insert(all.end(), folders.begin(), folders.end());
  return parse_recipe(toml, all, path.filename().string());
}

}  // namespace tenon::dataset
