// File endings to readers, output names to files.
#include "tenon/migrate/values_io.h"

#include <algorithm>

#include "tenon/base/file.h"
#include "tenon/base/npy.h"
#include "tenon/formats/onnx/read.h"

namespace tenon::migrate {
namespace {

namespace fs = std::filesystem;

// npy cannot name bf16 and float8: raw elements take the type that the model declares.
Result<Tensor> with_declared_type(Tensor t, const Type& type) {
  const DType want = type.dtype();
  if (t.dtype() == want || want == DType::undefined) return t;
  const bool raw = (t.dtype() == DType::bf16 || t.dtype() == DType::u16 || t.dtype() == DType::u8 ||
                    t.dtype() == DType::i8) &&
                   size_of(want) == size_of(t.dtype());
  const bool unnamed =
      is_floating(want) && want != DType::f16 && want != DType::f32 && want != DType::f64;
  const bool packed = bits_of(want) < 8;
  if (raw && (unnamed || packed)) return reinterpreted(t, want);
  return t;  // the run will say what disagrees
}

Result<Tensor> from_npz(const fs::path& path, const std::string& name) {
  NamedTensors arrays = TENON_TRY(read_npz(path));
  for (auto& [key, t] : arrays)
    if (key == name) return std::move(t);
  if (arrays.size() == 1) return std::move(arrays[0].second);
  return not_found("{} holds {} arrays, none named '{}'", path.string(), arrays.size(), name);
}

std::string file_stem(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

Json description(const std::string& name, const Datum& value) {
  Json j = {{"name", name}};
  if (value.is_absent()) {
    j["kind"] = "absent";
  } else if (value.is_tensor()) {
    j["shape"] = value.tensor().dims();
    j["dtype"] = std::string(tenon::name(value.tensor().dtype()));
  } else {
    j["kind"] = "sequence";
    j["items"] = Json::array();
    for (const Datum& item : value.items()) {
      Json d = description("", item);
      d.erase("name");
      j["items"].push_back(std::move(d));
    }
  }
  return j;
}

Status write_one(const fs::path& folder, const std::string& stem, const Datum& value, Json& j) {
  if (value.is_tensor()) {
    const fs::path file = folder / (stem + ".npy");
    TENON_TRY(write_npy(file, value.tensor()));
    j["file"] = file.string();
  } else if (value.is_absent()) {
    const fs::path file = folder / (stem + ".none");
    TENON_TRY(write_file_atomic(file, ""));
    j["file"] = file.string();
  } else {
    for (std::size_t i = 0; i < value.items().size(); ++i)
      TENON_TRY(write_one(folder, fmt::format("{}.{}", stem, i), value.items()[i], j["items"][i]));
  }
  return {};
}

}  // namespace

Result<Datum> read_value(const fs::path& path, const std::string& name, const Type& type) {
  const std::string ending = path.extension().string();
  if (ending == ".pb") return onnx::read_datum(path, type);
  if (ending == ".npy")
    return Datum(TENON_TRY(with_declared_type(TENON_TRY(read_npy(path)), type)));
  if (ending == ".npz")
    return Datum(TENON_TRY(with_declared_type(TENON_TRY(from_npz(path, name)), type)));
  return unsupported("input {} cannot be read from a file ending in '{}'", name, ending)
      .at(path.string())
      .with_help("give .npy, .npz or .pb, or a recipe for pictures, sound and text");
}

Json describe_values(const std::vector<std::string>& names, const Datums& values) {
  Json out = Json::array();
  for (std::size_t i = 0; i < values.size(); ++i) out.push_back(description(names[i], values[i]));
  return out;
}

Result<Json> write_values(const fs::path& folder, const std::vector<std::string>& names,
                          const Datums& values) {
  std::error_code e;
  fs::create_directories(folder, e);
  if (e) return io_error("the output folder cannot be made: {}", e.message()).at(folder.string());
  Json out = describe_values(names, values);
  for (std::size_t i = 0; i < values.size(); ++i)
    TENON_TRY_AT(folder.string(), write_one(folder, file_stem(names[i]), values[i], out[i]));
  return out;
}

}  // namespace tenon::migrate
