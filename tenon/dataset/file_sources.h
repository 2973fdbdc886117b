// Sources over files: idx, arrays, folders of pictures, sounds and texts, text corpora, tables.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/npy.h"
#include "tenon/dataset/source.h"
#include "tenon/dataset/tokenizer.h"

namespace tenon::dataset {

/// An idx file (LeCun's format), gzipped or not, as a tensor.
Result<Tensor> read_idx(const std::filesystem::path& path);
Result<Tensor> parse_idx(std::string_view bytes);
/// Pictures and labels of two idx files: fields `image` u8 [height, width], `label` i64 [].
Result<SourcePtr> idx_source(const std::filesystem::path& images,
                             const std::filesystem::path& labels);

/// Arrays that share their first dim: one field each, samples along it. `category_sizes` is what
/// the source's own answers.
Result<SourcePtr> array_source(NamedTensors arrays, std::string name,
                               std::vector<std::int64_t> category_sizes = {});
/// The arrays of .npy files (named after them), of an .npz or of a .safetensors file.
Result<SourcePtr> array_file_source(const std::vector<std::filesystem::path>& paths);

/// A class and the folders below the root whose files belong to it.
struct ClassFolders {
  std::string name;
  std::vector<std::string> folders;
};
/// Which folders are which classes. Empty: each subfolder of the root is a class of its name,
/// sorted; a folder without subfolders is one class.
using Classes = std::vector<ClassFolders>;

/// root/CLASS/**/*.{png,jpg,jpeg}: fields `image` u8 [-1, -1, 3] (or 1 for grey), `label` i64 [].
/// The first transform decodes.
Result<SourcePtr> image_folder_source(const std::filesystem::path& root, Color color = Color::rgb,
                                      int background = -1, const Classes& classes = {});

struct SoundOptions {
  int sample_rate = 16000;
  /// Every sample is cut or padded with silence to this length; where it is longer, the stretch is
  /// chosen at random if `random_start`, else from the beginning.
  double seconds = 1;
  bool random_start = false;
};
/// root/CLASS/**/*.wav: fields `sound` f32 [samples], `label` i64 [].
Result<SourcePtr> sound_folder_source(const std::filesystem::path& root, SoundOptions options,
                                      const Classes& classes = {});

struct TextOptions {
  int max_length = 512;  // tokens, frame included; the rest of a text is cut off
  bool mail = false;     // files are mails: mail_text (mail.h) of each
};
/// root/CLASS/**/* as text: fields `tokens` i64 [-1], `label` i64 []. Texts are tokenized when the
/// source is opened.
Result<SourcePtr> text_folder_source(const std::filesystem::path& root,
                                     std::shared_ptr<const Tokenizer> tokenizer,
                                     TextOptions options, const Classes& classes = {});

struct CorpusOptions {
  int sequence = 256;       // tokens of a sample
  std::string extension;    // of the files to take; empty: all
  double held_out = 0.05;   // share of files for validation, chosen by a hash of their names
  bool validation = false;  // the held-out files instead of the others
};
/// The files below `root` (or one file), joined in the order of their names with the tokenizer's
/// end token between them, as sequences: fields `tokens` i64 [sequence], `targets` i64 [sequence],
/// which are the tokens one later.
Result<SourcePtr> corpus_source(const std::filesystem::path& root,
                                std::shared_ptr<const Tokenizer> tokenizer,
                                const CorpusOptions& options);

struct TableOptions {
  std::vector<std::string> numeric;      // columns of field `numeric` f32 [n]; an empty cell is 0
  std::vector<std::string> categorical;  // columns of field `categories` i64 [n]
  std::string label;                     // field `label`: f32 []; an empty cell is 0
  std::optional<double> label_above;     // label becomes 1 where it is larger, else 0
  std::int64_t hash_buckets = 0;         // categories by hash; 0: numbered by first appearance
};
// Tables: one file, or all files of the kind below a folder (shards) as one table.

/// CSV with a header line (RFC 4180: quotes, doubled quotes, line ends inside quotes).
Result<SourcePtr> csv_source(const std::filesystem::path& path, const TableOptions& options);

/// Parquet and Arrow, as read_parquet and read_arrow (table.h) read them.
Result<SourcePtr> parquet_source(const std::filesystem::path& path, const TableOptions& options);
Result<SourcePtr> arrow_source(const std::filesystem::path& path, const TableOptions& options);

/// Files with one of the extensions below a folder, sorted by path; symbolic links are not
/// followed.
Result<std::vector<std::filesystem::path>> files_below(const std::filesystem::path& root,
                                                       const std::vector<std::string>& extensions);

}  // namespace tenon::dataset
