// NumPy .npy files, versions 1 to 3, and .npz archives of them.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/tensor.h"

namespace tenon {

/// Reads one array. Big-endian and column-major data are turned round; `<U` and `S` become strings;
/// raw two-byte elements (`V2`, what bf16 arrays are saved as) become bf16 and raw one-byte ones
/// (`V1`) u8, which `reinterpreted` can name better. Object arrays (pickle), records and dates are
/// `unsupported`; a header that disagrees with the size of the data is `invalid`.
/// With an `owner` of the bytes, native data is borrowed rather than copied.
Result<Tensor> parse_npy(std::span<const std::byte> bytes,
                         std::shared_ptr<const void> owner = nullptr);
/// The same from a file, which stays mapped while the tensor lives.
Result<Tensor> read_npy(const std::filesystem::path& path);

/// The bytes of an .npy file (version 1.0, little-endian, row-major). Types that npy cannot name:
/// bf16 as `V2`, float8 and float4 as `V1`, int4 and int2 as `i1`, uint4 and uint2 as `u1`, strings
/// as
/// `<U` (a string with a trailing NUL loses it, as in NumPy).
Result<std::string> npy_bytes(const Tensor& tensor);
/// Writes atomically.
Status write_npy(const std::filesystem::path& path, const Tensor& tensor);

/// The same bits under another element type of the same size (u8 as f8e4m3fn, u16 as bf16).
Result<Tensor> reinterpreted(const Tensor& tensor, DType dtype);

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
/// Arrays in the order of the archive, names without ".npy".
Result<NamedTensors> read_npz(const std::filesystem::path& path);
Status write_npz(const std::filesystem::path& path, const NamedTensors& tensors,
                 bool deflate = false);

}  // namespace tenon
