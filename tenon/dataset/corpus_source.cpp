// A text corpus as one long row of tokens, cut into sequences.
#include <algorithm>

#include "tenon/base/file.h"
#include "tenon/base/random.h"
#include "tenon/dataset/file_sources.h"

namespace tenon::dataset {
namespace fs = std::filesystem;
namespace {

class Corpus : public Source {
 public:
  Corpus(std::vector<TokenId> tokens, std::int64_t sequence, std::string name)
      : tokens_(std::move(tokens)), sequence_(sequence), name_(std::move(name)) {
    fields_ = {{"tokens", DType::i64, {sequence}}, {"targets", DType::i64, {sequence}}};
  }
  std::int64_t size() const override {
    return (static_cast<std::int64_t>(tokens_.size()) - 1) / sequence_;
  }
  const Fields& fields() const override { return fields_; }
  Status read(std::int64_t index, Item& item) const override {
    item.values.resize(2);
    for (int shift = 0; shift < 2; ++shift) {
      auto* to = reinterpret_cast<std::int64_t*>(
          item.values[static_cast<std::size_t>(shift)].own(DType::i64, fields_[0].dims));
      std::copy_n(tokens_.begin() + index * sequence_ + shift, sequence_, to);
    }
    return {};
  }
  std::string describe(std::int64_t index) const override {
    return fmt::format("{} sequence {}", name_, index);
  }
  std::int64_t length(std::int64_t) const override { return sequence_; }

 private:
  std::vector<TokenId> tokens_;
  std::int64_t sequence_;
  std::string name_;
  Fields fields_;
};

// By name and not by position, so that a file keeps its side when others come or go.
bool is_held_out(const fs::path& relative, double share) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (char c : relative.generic_string())
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<double>(mix_key(hash, 0) >> 11) * 0x1p-53 < share;
}

}  // namespace

Result<SourcePtr> corpus_source(const fs::path& root, std::shared_ptr<const Tokenizer> tokenizer,
                                const CorpusOptions& options) {
  const bool one = fs::is_regular_file(root);
  std::vector<fs::path> files = {root};
  if (!one)
    files = TENON_TRY(files_below(root, options.extension.empty()
                                            ? std::vector<std::string>{}
                                            : std::vector<std::string>{options.extension}));
  std::optional<TokenId> end;
  for (const char* text : {"<|endoftext|>", "<|end_of_text|>", "</s>", "[SEP]"})
    for (const SpecialToken& t : tokenizer->special_tokens())
      if (!end && t.text == text) end = t.id;
  std::vector<TokenId> tokens;
  for (const fs::path& file : files) {
    if (!one && is_held_out(file.lexically_relative(root), options.held_out) != options.validation)
      continue;
    tokenizer->encode(TENON_TRY(read_file(file)), tokens, false);
    if (end) tokens.push_back(*end);
  }
  if (static_cast<std::int64_t>(tokens.size()) <= options.sequence)
    return invalid("the {} files hold {} tokens, less than one sequence of {}",
                   options.validation ? "held-out" : "training", tokens.size(), options.sequence)
        .at(root.string());
  return SourcePtr(std::make_shared<Corpus>(std::move(tokens), options.sequence, root.string()));
}

}  // namespace tenon::dataset
