// Runtime values from files and to files, as the command line fixes them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/base/tensor.h"
#include "tenon/ir/type.h"

namespace tenon::migrate {

/// Reads one input: .npy, .npz (its only array, or the one named `name`), .pb (a TensorProto,
/// SequenceProto or OptionalProto, as `type` says). Raw two- and one-byte arrays take the element
/// type of `type` (bf16, float8). unsupported names other endings.
Result<Datum> read_value(const std::filesystem::path& path, const std::string& name,
                         const Type& type);

/// Writes outputs into `folder` (made if missing): NAME.npy with '/' and ':' as '_', NAME.0.npy ...
/// for a sequence, NAME.none for an absent optional. Returns one JSON object each: name, shape,
/// dtype, file.
Result<Json> write_values(const std::filesystem::path& folder,
                          const std::vector<std::string>& names, const Datums& values);
/// The same objects without writing: `file` is absent.
Json describe_values(const std::vector<std::string>& names, const Datums& values);

}  // namespace tenon::migrate
