// SequenceProto and OptionalProto: runtime values in files.
#include "tenon/formats/onnx/read.h"
#include "tenon/formats/onnx/tensor_reader.h"
#include "tenon/formats/onnx/wire.h"

namespace tenon::onnx {
namespace {

constexpr int kMaxNesting = 8;

Result<Datum> parse(std::string_view bytes, DataFiles& files, const Type& type, int depth);

// Fields of SequenceProto: 3 tensors, 4 sparse tensors, 5 sequences, 7 optionals.
Result<Datum> parse_sequence(std::string_view bytes, DataFiles& files, const Type& type,
                             int depth) {
  std::vector<Datum> items;
  WireReader r(bytes, "SequenceProto");
  while (TENON_TRY(r.next())) {
    const int f = r.field();
    if (f == 4)
      items.emplace_back(TENON_TRY(
          read_sparse_tensor(TENON_TRY(parse_sparse_tensor(TENON_TRY(r.text()))), files)));
    else if (f == 3 || f == 5 || f == 7)
      items.push_back(TENON_TRY(parse(TENON_TRY(r.text()), files, type.element(), depth + 1)));
    else if (f == 6)
      return unsupported("a sequence of maps");
  }
  return Datum::sequence(std::move(items));
}

// Fields of OptionalProto: 3 tensor, 4 sparse tensor, 5 sequence, 7 optional; none of them: absent.
Result<Datum> parse_optional(std::string_view bytes, DataFiles& files, const Type& type,
                             int depth) {
  Datum value;
  WireReader r(bytes, "OptionalProto");
  while (TENON_TRY(r.next())) {
    const int f = r.field();
    if (f == 4)
      value = Datum(TENON_TRY(
          read_sparse_tensor(TENON_TRY(parse_sparse_tensor(TENON_TRY(r.text()))), files)));
    else if (f == 3 || f == 5 || f == 7)
      value = TENON_TRY(parse(TENON_TRY(r.text()), files, type.element(), depth + 1));
    else if (f == 6)
      return unsupported("an optional map");
  }
  return value;
}

Result<Datum> parse(std::string_view bytes, DataFiles& files, const Type& type, int depth) {
  if (depth > kMaxNesting) return invalid("values are nested more than {} deep", kMaxNesting);
  if (type.is_sequence()) return parse_sequence(bytes, files, type, depth);
  if (type.is_optional()) return parse_optional(bytes, files, type, depth);
  return Datum(TENON_TRY(read_tensor(TENON_TRY(parse_tensor(bytes)), files)));
}

}  // namespace

Result<Datum> parse_datum(std::string_view bytes, std::shared_ptr<const void> owner,
                          const Type& type) {
  DataFiles files(std::move(owner), {});
  return parse(bytes, files, type, 0);
}

Result<Datum> read_datum(const std::filesystem::path& path, const Type& type) {
  const auto file = TENON_TRY(MappedFile::open(path));
  return placed(parse_datum(file->text(), file, type), [&] { return path.string(); });
}

}  // namespace tenon::onnx
