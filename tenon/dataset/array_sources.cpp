// Samples that lie in memory or in mapped files: reading one borrows its bytes.
#include <algorithm>
#include <cstring>

#include "tenon/base/file.h"
#include "tenon/base/safetensors.h"
#include "tenon/base/zip.h"
#include "tenon/dataset/file_sources.h"

namespace tenon::dataset {
namespace fs = std::filesystem;
namespace {

class Arrays : public Source {
 public:
  Arrays(NamedTensors arrays, std::string name, std::vector<std::int64_t> category_sizes)
      : arrays_(std::move(arrays)),
        name_(std::move(name)),
        category_sizes_(std::move(category_sizes)) {
    for (const auto& [key, t] : arrays_)
      fields_.push_back({key, t.dtype(), Dims(t.dims().begin() + 1, t.dims().end())});
  }
  std::int64_t size() const override { return arrays_[0].second.dim(0); }
  const Fields& fields() const override { return fields_; }
  Status read(std::int64_t index, Item& item) const override {
    item.values.resize(fields_.size());
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const Tensor& t = arrays_[i].second;
      const std::size_t stride = static_cast<std::size_t>(t.count() / t.dim(0)) *
                                 static_cast<std::size_t>(size_of(t.dtype()));
      item.values[i].borrow(t.dtype(), fields_[i].dims,
                            t.raw() + static_cast<std::size_t>(index) * stride);
    }
    return {};
  }
  std::string describe(std::int64_t index) const override {
    return fmt::format("{} sample {}", name_, index);
  }
  const std::vector<std::int64_t>& category_sizes() const override { return category_sizes_; }

 private:
  NamedTensors arrays_;
  std::string name_;
  std::vector<std::int64_t> category_sizes_;
  Fields fields_;
};

std::optional<DType> idx_type(unsigned code) {
  switch (code) {
    case 0x08: return DType::u8;
    case 0x09: return DType::i8;
    case 0x0b: return DType::i16;
    case 0x0c: return DType::i32;
    case 0x0d: return DType::f32;
    case 0x0e: return DType::f64;
    default: return std::nullopt;
  }
}

Result<NamedTensors> read_arrays(const fs::path& path) {
  if (path.extension() == ".npz") return read_npz(path);
  NamedTensors out;
  if (path.extension() == ".safetensors") {
    const Safetensors file = TENON_TRY(Safetensors::open(path));
    for (const SafetensorsEntry& e : file.entries())
      out.emplace_back(e.name, TENON_TRY(file.tensor(e)));
  } else {
    out.emplace_back(path.stem().string(), TENON_TRY(read_npy(path)));
  }
  return out;
}

}  // namespace

Result<Tensor> parse_idx(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() < 4 || byte(0) || byte(1)) return invalid("not an idx file");
  const auto dtype = idx_type(byte(2));
  if (!dtype) return invalid("idx: element type {:#x}", byte(2));
  const std::size_t ndim = byte(3), header = 4 + 4 * ndim;
  if (bytes.size() < header) return invalid("idx: the header is cut off");
  Dims dims;
  for (std::size_t i = 0; i < ndim; ++i) {
    std::uint32_t d;
    std::memcpy(&d, bytes.data() + 4 + 4 * i, 4);
    dims.push_back(__builtin_bswap32(d));
  }
  const auto count = static_cast<std::size_t>(TENON_TRY(checked_num_elements(dims)));
  const auto width = static_cast<std::size_t>(size_of(*dtype));
  if (count != (bytes.size() - header) / width || (bytes.size() - header) % width)
    return invalid("idx: dims {} do not fill the {} bytes that follow the header", to_text(dims),
                   bytes.size() - header);
  Tensor t(*dtype, dims);
  std::memcpy(t.raw(), bytes.data() + header, t.bytes());
  for (std::size_t i = 0; width > 1 && i < t.bytes(); i += width)
    std::reverse(t.raw() + i, t.raw() + i + width);
  return t;
}

Result<Tensor> read_idx(const fs::path& path) {
  const std::string bytes = TENON_TRY(read_gzip(path));
  return placed(parse_idx(bytes), [&] { return path.string(); });
}

Result<SourcePtr> array_source(NamedTensors arrays, std::string name,
                               std::vector<std::int64_t> category_sizes) {
  if (arrays.empty()) return invalid("{} holds no arrays", name);
  for (const auto& [key, t] : arrays) {
    if (t.dtype() == DType::string) return unsupported("array '{}' of strings", key).at(name);
    if (t.ndim() == 0)
      return invalid("array '{}' is a single number, not a list of samples", key).at(name);
    if (t.dim(0) != arrays[0].second.dim(0))
      return invalid("array '{}' holds {} samples but '{}' holds {}", key, t.dim(0),
                     arrays[0].first, arrays[0].second.dim(0))
          .at(name);
  }
  return SourcePtr(
      std::make_shared<Arrays>(std::move(arrays), std::move(name), std::move(category_sizes)));
}

Result<SourcePtr> array_file_source(const std::vector<fs::path>& paths) {
  NamedTensors all;
  for (const fs::path& path : paths)
    for (auto& array : TENON_TRY(read_arrays(path))) all.push_back(std::move(array));
  return array_source(std::move(all), paths.empty() ? "no file" : paths[0].string());
}

Result<SourcePtr> idx_source(const fs::path& images, const fs::path& labels) {
  Tensor pictures = TENON_TRY(read_idx(images));
  const Tensor numbers = TENON_TRY(read_idx(labels));
  if (pictures.dtype() != DType::u8 || pictures.ndim() < 3)
    return invalid("idx: pictures are {} {}", name(pictures.dtype()), to_text(pictures.dims()))
        .at(images.string());
  if (numbers.ndim() != 1 || !is_integer(numbers.dtype()))
    return invalid("idx: labels are {} {}", name(numbers.dtype()), to_text(numbers.dims()))
        .at(labels.string());
  Tensor wide = from_int64s(to_int64s(numbers), DType::i64, numbers.dims());
  return array_source({{"image", std::move(pictures)}, {"label", std::move(wide)}},
                      images.string());
}

}  // namespace tenon::dataset
