// Single files as arrays, and sources looked at sample by sample: what `tenon data` shows and
// checks.
#pragma once

#include <filesystem>
#include <vector>

#include "tenon/base/npy.h"
#include "tenon/dataset/loader.h"
#include "tenon/dataset/source.h"
#include "tenon/dataset/transform.h"

namespace tenon::dataset {

/// A picture as u8 [height, width, 3] named "", a sound as f32 [frames] or [frames, channels] named
/// "", the columns of a CSV, Parquet or Arrow file as f64 or string [rows] under their names (a
/// missing text is empty, a missing number NaN).
Result<NamedTensors> read_as_arrays(const std::filesystem::path& file);

/// Sample `index` after the transforms, as at the start of epoch 0 with `seed`; named by its
/// fields.
Result<NamedTensors> sample_as_arrays(const Source& source,
                                      const std::vector<TransformPtr>& transforms,
                                      std::int64_t index, std::uint64_t seed);

/// A source of the same size whose samples hold nothing but have been read and transformed: for
/// finding every bad one with the loader's threads, limits and names.
SourcePtr checked(SourcePtr source, std::vector<TransformPtr> transforms);

}  // namespace tenon::dataset
