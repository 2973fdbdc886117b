// The section [data] of a training file: which source, which transforms, which loader.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/json.h"
#include "tenon/dataset/file_sources.h"
#include "tenon/dataset/loader.h"
#include "tenon/dataset/transform.h"

namespace tenon::dataset {

enum class SourceKind : std::uint8_t {
  idx,
  image_folder,
  sound_folder,
  text_folder,
  corpus,
  csv,
  parquet,
  arrow,
  arrays
};

/// What [data] says; docs/data.md lists the keys.
struct DataConfig {
  SourceKind kind = SourceKind::idx;
  std::filesystem::path path;       // a folder, or a file
  std::filesystem::path test_path;  // the test samples; empty: a part of `path` is held back
  std::string images, labels, test_images, test_labels;  // idx: files below path
  std::vector<std::string> files, test_files;            // arrays: files below path
  double held_out = 0;  // share of samples (corpus: files) for testing
  Color color = Color::rgb;
  int background = -1;
  SoundOptions sound;
  std::filesystem::path tokenizer;
  TextOptions text;
  Classes classes;  // of folders
  CorpusOptions corpus;
  TableOptions table;
  std::vector<TransformPtr> transforms, test_transforms;
  LoaderOptions loader;  // batch and seed are the trainer's to set
};

/// Reads [data]. Relative paths are looked for below `folder` (that of the training file) and then
/// below the working directory. All problems are reported at once.
Result<DataConfig> parse_data_config(const Json& data, const std::filesystem::path& folder,
                                     const std::string& where);

/// The samples to train on, and those to test on (nothing where none are held back).
Result<SourcePtr> open_train_source(const DataConfig& config);
Result<SourcePtr> open_test_source(const DataConfig& config);

/// The tokenizer of a text source; not_found where there is none.
Result<std::shared_ptr<const Tokenizer>> open_tokenizer(const DataConfig& config);

}  // namespace tenon::dataset
