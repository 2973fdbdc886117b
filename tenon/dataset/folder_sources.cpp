// Folders whose subfolders are classes.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tenon/base/file.h"
#include "tenon/dataset/audio.h"
#include "tenon/dataset/file_sources.h"
#include "tenon/dataset/mail.h"

namespace tenon::dataset {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxFile = std::size_t{1} << 30;

struct Listing {
  std::vector<fs::path> files;
  std::vector<std::int64_t> labels;
  std::vector<std::string> classes;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Every subfolder of the root under its own name.
Result<Classes> subfolders(const fs::path& root) {
  std::error_code ec;
  Classes out;
  for (fs::directory_iterator it(root, ec), end; !ec && it != end; it.increment(ec))
    if (it->is_directory() && !it->is_symlink())
      out.push_back({it->path().filename().string(), {it->path().filename().string()}});
  if (ec) return io_error("cannot list '{}': {}", root.string(), ec.message());
  std::sort(out.begin(), out.end(),
            [](const ClassFolders& a, const ClassFolders& b) { return a.name < b.name; });
  if (out.empty()) out.push_back({root.filename().string(), {"."}});
  return out;
}

Result<Listing> list_classes(const fs::path& root, const std::vector<std::string>& extensions,
                             const Classes& named) {
  Listing out;
  for (const ClassFolders& c : named.empty() ? TENON_TRY(subfolders(root)) : named) {
    std::vector<fs::path> files;
    for (const std::string& folder : c.folders)
      for (fs::path& file : TENON_TRY(files_below(root / folder, extensions)))
        files.push_back(std::move(file));
    // A class that is asked for must exist; a subfolder may hold other things.
    if (files.empty() && !named.empty())
      return not_found("class '{}' has no file below '{}'", c.name, root.string());
    if (files.empty()) continue;
    out.labels.insert(out.labels.end(), files.size(),
                      static_cast<std::int64_t>(out.classes.size()));
    out.files.insert(out.files.end(), std::make_move_iterator(files.begin()),
                     std::make_move_iterator(files.end()));
    out.classes.push_back(c.name);
  }
  if (out.files.empty())
    return not_found("no file with extension {} below '{}'",
                     extensions.empty() ? "of any kind" : extensions[0], root.string());
  return out;
}

class Folder : public Source {
 public:
  explicit Folder(Listing listing) : listing_(std::move(listing)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(listing_.files.size()); }
  const Fields& fields() const override { return fields_; }
  std::string describe(std::int64_t index) const override { return file(index).string(); }
  const std::vector<std::string>& classes() const override { return listing_.classes; }

 protected:
  const fs::path& file(std::int64_t index) const {
    return listing_.files[static_cast<std::size_t>(index)];
  }
  std::int64_t label(std::int64_t index) const {
    return listing_.labels[static_cast<std::size_t>(index)];
  }
  Fields fields_;

 private:
  Listing listing_;
};

class ImageFolder : public Folder {
 public:
  ImageFolder(Listing listing, Color color, int background)
      : Folder(std::move(listing)), color_(color), background_(background) {
    fields_ = {{"image", DType::u8, {-1, -1, color == Color::gray ? 1 : 3}},
               {"label", DType::i64, {}}};
  }
  // The file as it is: the first transform decodes what it needs.
  Status read(std::int64_t index, Item& item) const override {
    item.values.resize(2);
    const std::string bytes = TENON_TRY(read_file(file(index), kMaxFile));
    std::memcpy(item.values[0].own(DType::u8, {static_cast<std::int64_t>(bytes.size())}),
                bytes.data(), bytes.size());
    item.values[0].encoded = true;
    item.values[0].color = color_;
    item.values[0].background = background_;
    item.values[1].set(label(index));
    return {};
  }

 private:
  Color color_;
  int background_;
};

class SoundFolder : public Folder {
 public:
  SoundFolder(Listing listing, SoundOptions options)
      : Folder(std::move(listing)), options_(options) {
    samples_ = std::max<std::int64_t>(1, std::llround(options.seconds * options.sample_rate));
    fields_ = {{"sound", DType::f32, {samples_}}, {"label", DType::i64, {}}};
  }
  Status read(std::int64_t index, Item& item) const override {
    item.values.resize(2);
    const Audio audio = TENON_TRY(read_wav(file(index)));
    const std::vector<float> all =
        resample(to_mono(audio), audio.sample_rate, options_.sample_rate);
    const auto n = static_cast<std::int64_t>(all.size()), spare = n - samples_;
    const std::int64_t start = options_.random_start && spare > 0
                                   ? item.random.below(static_cast<std::uint32_t>(spare + 1))
                                   : 0;
    std::uint8_t* to = item.values[0].own(DType::f32, {samples_});
    std::memset(to, 0, item.values[0].bytes());
    if (n > 0)
      std::memcpy(to, all.data() + start,
                  static_cast<std::size_t>(std::min(samples_, n - start)) * sizeof(float));
    item.values[1].set(label(index));
    return {};
  }

 private:
  SoundOptions options_;
  std::int64_t samples_ = 0;
};

class TextFolder : public Folder {
 public:
  TextFolder(Listing listing, std::vector<std::vector<TokenId>> texts)
      : Folder(std::move(listing)), texts_(std::move(texts)) {
    fields_ = {{"tokens", DType::i64, {-1}}, {"label", DType::i64, {}}};
  }
  Status read(std::int64_t index, Item& item) const override {
    item.values.resize(2);
    const auto& text = texts_[static_cast<std::size_t>(index)];
    auto* to = reinterpret_cast<std::int64_t*>(
        item.values[0].own(DType::i64, {static_cast<std::int64_t>(text.size())}));
    std::copy(text.begin(), text.end(), to);
    item.values[1].set(label(index));
    return {};
  }
  std::int64_t length(std::int64_t index) const override {
    return static_cast<std::int64_t>(texts_[static_cast<std::size_t>(index)].size());
  }

 private:
  std::vector<std::vector<TokenId>> texts_;
};

}  // namespace

Result<std::vector<fs::path>> files_below(const fs::path& root,
                                          const std::vector<std::string>& extensions) {
  std::vector<fs::path> files;
  std::error_code ec;
  for (fs::recursive_directory_iterator it(root, ec), end; !ec && it != end; it.increment(ec)) {
    if (it->is_symlink() || !it->is_regular_file()) continue;
    const std::string extension = lower(it->path().extension().string());
    if (extensions.empty() ||
        std::find(extensions.begin(), extensions.end(), extension) != extensions.end())
      files.push_back(it->path());
  }
  if (ec)
    return error(ec == std::errc::no_such_file_or_directory ? Code::not_found : Code::io,
                 "cannot list '{}': {}", root.string(), ec.message());
  std::sort(files.begin(), files.end());
  return files;
}

Result<SourcePtr> image_folder_source(const fs::path& root, Color color, int background,
                                      const Classes& classes) {
  return SourcePtr(std::make_shared<ImageFolder>(
      TENON_TRY(list_classes(root, {".png", ".jpg", ".jpeg"}, classes)), color, background));
}

Result<SourcePtr> sound_folder_source(const fs::path& root, SoundOptions options,
                                      const Classes& classes) {
  if (options.sample_rate < 1 || !(options.seconds > 0) ||
      options.seconds * options.sample_rate > 1e9)
    return invalid("{} seconds at {} samples a second", options.seconds, options.sample_rate);
  return SourcePtr(
      std::make_shared<SoundFolder>(TENON_TRY(list_classes(root, {".wav"}, classes)), options));
}

Result<SourcePtr> text_folder_source(const fs::path& root,
                                     std::shared_ptr<const Tokenizer> tokenizer,
                                     TextOptions options, const Classes& classes) {
  Listing listing = TENON_TRY(list_classes(root, {}, classes));
  std::vector<std::vector<TokenId>> texts;
  for (const fs::path& file : listing.files) {
    std::string text = TENON_TRY(read_file(file, kMaxFile));
    if (options.mail) text = mail_text(text);
    texts.push_back(tokenizer->encode_framed(text, options.max_length));
  }
  return SourcePtr(std::make_shared<TextFolder>(std::move(listing), std::move(texts)));
}

}  // namespace tenon::dataset
