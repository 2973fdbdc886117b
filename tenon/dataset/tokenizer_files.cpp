// Reads the files in which tokenizers are shipped.
#include <algorithm>
#include <map>

#include "tenon/base/file.h"
#include "tenon/base/json.h"
#include "tenon/dataset/byte_pair.h"
#include "tenon/dataset/tokenizer.h"
#include "tenon/dataset/word_piece.h"

namespace tenon::dataset {
namespace fs = std::filesystem;
namespace {

using Loaded = Result<std::shared_ptr<const Tokenizer>>;
constexpr std::size_t kMaxFile = std::size_t{256} << 20;
constexpr std::int64_t kMaxTokens = 1 << 24;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

// {"token": id, ...} as a table by id; ids may leave gaps.
Result<std::vector<std::string>> table_of(const Json& vocabulary) {
  if (!vocabulary.is_object()) return invalid("the vocabulary is {}", json_kind(vocabulary));
  std::vector<std::string> table;
  for (const auto& [token, value] : vocabulary.items()) {
    const auto id = TENON_TRY(json_as<std::int64_t>(value, token));
    if (id < 0 || id >= kMaxTokens) return invalid("token '{}' has the number {}", token, id);
    if (static_cast<std::size_t>(id) >= table.size())
      table.resize(static_cast<std::size_t>(id) + 1);
    table[static_cast<std::size_t>(id)] = token;
  }
  return table;
}

// A table of printable forms to bytes; tokens that are no byte strings (special ones) stay out.
std::vector<std::string> to_bytes(const std::vector<std::string>& printable) {
  std::vector<std::string> bytes;
  for (const std::string& p : printable) bytes.push_back(bytes_of_printable(p).value_or(""));
  return bytes;
}

Result<BytePair::Merge> make_merge(std::string_view left, std::string_view right,
                                   const std::map<std::string, TokenId, std::less<>>& ids) {
  const auto find = [&](std::string_view t) { return ids.find(t); };
  const auto a = find(left), b = find(right), c = find(std::string(left) + std::string(right));
  if (a == ids.end() || b == ids.end() || c == ids.end())
    return invalid("merge '{} {}' names a token that the vocabulary lacks", left, right);
  return BytePair::Merge{a->second, b->second, c->second};
}

std::map<std::string, TokenId, std::less<>> index_of(const std::vector<std::string>& table) {
  std::map<std::string, TokenId, std::less<>> ids;
  for (std::size_t i = 0; i < table.size(); ++i)
    if (!table[i].empty()) ids.emplace(table[i], static_cast<TokenId>(i));
  return ids;
}

Loaded load_gpt2(const fs::path& vocabulary, const fs::path& merges_file) {
  const auto table =
      TENON_TRY_AT(vocabulary.string(), table_of(TENON_TRY(read_json(vocabulary, kMaxFile))));
  const auto ids = index_of(table);
  const std::string text = TENON_TRY(read_file(merges_file, kMaxFile));
  std::vector<BytePair::Merge> merges;
  std::size_t number = 0;
  for (std::string_view line : lines_of(text)) {
    ++number;
    if (line.empty() || line.starts_with("#version")) continue;
    const auto space = line.find(' ');
    if (space == line.npos)
      return invalid("a merge needs two tokens")
          .at(fmt::format("{}, line {}", merges_file.string(), number));
    merges.push_back(TENON_TRY_AT(fmt::format("{}, line {}", merges_file.string(), number),
                                  make_merge(line.substr(0, space), line.substr(space + 1), ids)));
  }
  auto t = TENON_TRY(BytePair::create(to_bytes(table), std::move(merges), {}));
  if (const auto end = ids.find("<|endoftext|>"); end != ids.end()) {
    t->set_special_tokens({{end->first, end->second}});
    t->set_pad(end->second);
  }
  return std::shared_ptr<const Tokenizer>(t);
}

std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    const auto digit = kDigits.find(c);
    if (digit == kDigits.npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if ((count += 6) >= 8) out += static_cast<char>(bits >> (count -= 8));
  }
  return out;
}

// Lines "base64 rank". The file names no pattern: vocabularies of GPT-2's size use its own, the
// larger ones the later one.
Loaded load_tiktoken(const fs::path& path) {
  const std::string text = TENON_TRY(read_file(path, kMaxFile));
  std::vector<std::string> table;
  std::size_t number = 0;
  for (std::string_view line : lines_of(text)) {
    ++number;
    if (line.empty()) continue;
    const auto space = line.find(' ');
    const auto bytes = from_base64(line.substr(0, space));
    const std::int64_t rank =
        space == line.npos ? -1 : std::atoll(std::string(line.substr(space + 1)).c_str());
    if (!bytes || bytes->empty() || rank < 0 || rank >= kMaxTokens)
      return invalid("not a line of base64 and rank")
          .at(fmt::format("{}, line {}", path.string(), number));
    if (static_cast<std::size_t>(rank) >= table.size())
      table.resize(static_cast<std::size_t>(rank) + 1);
    table[static_cast<std::size_t>(rank)] = *bytes;
  }
  const bool old = table.size() <= 51000;
  const auto end = static_cast<TokenId>(table.size());
  auto t = TENON_TRY_AT(
      path.string(), BytePair::create(std::move(table), {},
                                      {.pattern = old ? WordPattern::gpt2 : WordPattern::llama3}));
  if (old) t->set_special_tokens({{"<|endoftext|>", end}});
  return std::shared_ptr<const Tokenizer>(t);
}

// The frame of BERT, where the vocabulary has its tokens.
void set_bert_frame(WordPiece& t) {
  std::vector<SpecialToken> special;
  for (const char* text : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
    if (const auto id = t.id_of(text)) special.push_back({text, *id});
  t.set_special_tokens(std::move(special));
  t.set_pad(t.id_of("[PAD]"));
  const auto cls = t.id_of("[CLS]"), sep = t.id_of("[SEP]");
  if (cls && sep) t.set_template({{*cls, -1, *sep}});
}

Loaded load_vocab_txt(const fs::path& path) {
  const std::string text = TENON_TRY(read_file(path, kMaxFile));
  std::vector<std::string> table;
  for (std::string_view line : lines_of(text)) table.emplace_back(line);
  WordPieceOptions options;
  const fs::path config = path.parent_path() / "tokenizer_config.json";
  if (fs::exists(config)) {
    const Json c = TENON_TRY(read_json(config));
    options.lowercase = TENON_TRY(json_get_or<bool>(c, "do_lower_case", true));
    options.strip_accents = options.lowercase;
    if (c.contains("strip_accents") && c["strip_accents"].is_boolean())
      options.strip_accents = c["strip_accents"];
  }
  auto t = TENON_TRY_AT(path.string(), WordPiece::create(std::move(table), options));
  set_bert_frame(*t);
  return std::shared_ptr<const Tokenizer>(t);
}

// ---- tokenizer.json ----

Result<std::vector<SpecialToken>> added_tokens(const Json& file) {
  std::vector<SpecialToken> tokens;
  if (!file.contains("added_tokens")) return tokens;
  for (const Json& t : file["added_tokens"]) {
    const auto id = TENON_TRY(json_get<int>(t, "id"));
    if (id < 0 || id >= kMaxTokens) return invalid("added token number {}", id);
    tokens.push_back({TENON_TRY(json_get<std::string>(t, "content")), id});
  }
  return tokens;
}

// The ids around "$A" of a post-processor.
Result<Template> frame_of(const Json& file, const Tokenizer& t) {
  Template frame;
  if (!file.contains("post_processor") || file["post_processor"].is_null()) return frame;
  const Json& p = file["post_processor"];
  const auto type = TENON_TRY(json_get<std::string>(p, "type"));
  if (type == "ByteLevel") return frame;
  if (type == "BertProcessing" || type == "RobertaProcessing")
    return Template{{p.at("cls").at(1).get<TokenId>(), -1, p.at("sep").at(1).get<TokenId>()}};
  if (type == "Sequence") {
    for (const Json& part : p.at("processors"))
      if (part.value("type", "") == "TemplateProcessing")
        return frame_of(Json{{"post_processor", part}}, t);
    return frame;
  }
  if (type != "TemplateProcessing") return unsupported("post-processor {}", type);
  frame.single.clear();
  for (const Json& piece : p.at("single")) {
    if (piece.contains("Sequence")) {
      frame.single.push_back(-1);
      continue;
    }
    const auto name = piece.at("SpecialToken").at("id").get<std::string>();
    for (const Json& id : p.at("special_tokens").at(name).at("ids"))
      frame.single.push_back(id.get<TokenId>());
  }
  if (std::count(frame.single.begin(), frame.single.end(), -1) != 1)
    return invalid("the template holds no single text");
  return frame;
}

Loaded load_word_piece(const Json& file, const Json& model) {
  WordPieceOptions options;
  options.unknown = TENON_TRY(json_get_or<std::string>(model, "unk_token", "[UNK]"));
  options.continuation =
      TENON_TRY(json_get_or<std::string>(model, "continuing_subword_prefix", "##"));
  options.max_word =
      static_cast<std::size_t>(TENON_TRY(json_get_or<int>(model, "max_input_chars_per_word", 100)));
  const Json normalizer = file.value("normalizer", Json());
  if (normalizer.is_null()) {
    options = {.lowercase = false,
               .strip_accents = false,
               .clean_text = false,
               .split_chinese = false,
               .unknown = options.unknown,
               .continuation = options.continuation,
               .max_word = options.max_word};
  } else if (normalizer.value("type", "") == "BertNormalizer") {
    options.lowercase = normalizer.value("lowercase", true);
    options.clean_text = normalizer.value("clean_text", true);
    options.split_chinese = normalizer.value("handle_chinese_chars", true);
    const Json strip = normalizer.value("strip_accents", Json());
    options.strip_accents = strip.is_boolean() ? strip.get<bool>() : options.lowercase;
  } else {
    return unsupported("normalizer {} before WordPiece", normalizer.value("type", "?"));
  }
  const std::string cutter = file.value("pre_tokenizer", Json()).value("type", "");
  if (cutter != "BertPreTokenizer")
    return unsupported("pre-tokenizer '{}' before WordPiece", cutter);
  auto t = TENON_TRY(WordPiece::create(TENON_TRY(table_of(model.at("vocab"))), options));
  t->set_special_tokens(TENON_TRY(added_tokens(file)));
  t->set_template(TENON_TRY(frame_of(file, *t)));
  t->set_pad(t->id_of("[PAD]"));
  return std::shared_ptr<const Tokenizer>(t);
}

Status read_cutter(const Json& cutter, BytePairOptions& options, bool& byte_level) {
  const std::string type = cutter.is_object() ? cutter.value("type", "") : "";
  if (type == "Sequence") {
    for (const Json& part : cutter.at("pretokenizers"))
      TENON_TRY(read_cutter(part, options, byte_level));
    return {};
  }
  if (type == "ByteLevel") {
    byte_level = true;
    options.add_prefix_space = cutter.value("add_prefix_space", true);
    if (cutter.value("use_regex", true)) options.pattern = WordPattern::gpt2;
    return {};
  }
  if (type == "Split" && cutter.at("pattern").contains("Regex")) {
    const std::string regex = cutter["pattern"]["Regex"];
    const auto pattern = pattern_named(regex);
    if (!pattern) return unsupported("pre-tokenizer with the expression {}", regex);
    options.pattern = *pattern;
    return {};
  }
  return unsupported("pre-tokenizer '{}' before BPE", type);
}

Result<std::vector<BytePair::Merge>> read_merges(const Json& model,
                                                 const std::vector<std::string>& table) {
  const auto ids = index_of(table);
  std::vector<BytePair::Merge> merges;
  for (const Json& m : model.at("merges")) {
    if (m.is_array() && m.size() == 2) {
      merges.push_back(TENON_TRY(make_merge(TENON_TRY(json_as<std::string>(m[0], "merge")),
                                            TENON_TRY(json_as<std::string>(m[1], "merge")), ids)));
      continue;
    }
    const auto text = TENON_TRY(json_as<std::string>(m, "merge"));
    const auto space = text.find(' ');
    if (space == text.npos) return invalid("merge '{}' is not of two tokens", text);
    merges.push_back(TENON_TRY(make_merge(std::string_view(text).substr(0, space),
                                          std::string_view(text).substr(space + 1), ids)));
  }
  return merges;
}

Loaded load_byte_pair(const Json& file, const Json& model) {
  BytePairOptions options{.pattern = WordPattern::whole};
  bool byte_level = false;
  TENON_TRY(read_cutter(file.value("pre_tokenizer", Json()), options, byte_level));
  if (!byte_level) return unsupported("BPE that is not byte-level");
  const Json normalizer = file.value("normalizer", Json());
  if (!normalizer.is_null())
    return unsupported("normalizer {} before BPE", normalizer.value("type", "?"));
  options.ignore_merges = TENON_TRY(json_get_or<bool>(model, "ignore_merges", false));
  const auto table = TENON_TRY(table_of(model.at("vocab")));
  auto merges = TENON_TRY(read_merges(model, table));
  auto t = TENON_TRY(BytePair::create(to_bytes(table), std::move(merges), options));
  t->set_special_tokens(TENON_TRY(added_tokens(file)));
  t->set_template(TENON_TRY(frame_of(file, *t)));
  return std::shared_ptr<const Tokenizer>(t);
}

Loaded load_tokenizer_json(const fs::path& path) {
  const Json file = TENON_TRY(read_json(path, kMaxFile));
  if (!file.is_object() || !file.contains("model") || !file["model"].is_object())
    return invalid("no tokenizer: 'model' is missing").at(path.string());
  const Json& model = file["model"];
  std::string type = model.value("type", "");
  if (type.empty())
    type = model.contains("merges")                      ? "BPE"
           : model.contains("continuing_subword_prefix") ? "WordPiece"
                                                         : "";
  try {  // Json::at and value answer a wrong shape with exceptions; here they become the error
    if (type == "WordPiece")
      return placed(load_word_piece(file, model), [&] { return path.string(); });
    if (type == "BPE") return placed(load_byte_pair(file, model), [&] { return path.string(); });
  } catch (const Json::exception& e) {
    return invalid("not a tokenizer.json: {}", e.what()).at(path.string());
  }
  return unsupported("tokenizer model '{}'", type).at(path.string());
}

Loaded load_folder(const fs::path& folder) {
  for (const char* name :
       {"tokenizer.json", "vocab.txt", "encoder.json", "vocab.json", "tokenizer.model"})
    if (fs::exists(folder / name)) return load_tokenizer(folder / name);
  return not_found("no tokenizer file in '{}'", folder.string())
      .with_help("tokenizer.json, vocab.txt, encoder.json with vocab.bpe, or tokenizer.model");
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> load_tokenizer(const fs::path& path) {
  if (fs::is_directory(path)) return load_folder(path);
  const std::string name = path.filename().string();
  const fs::path folder = path.parent_path();
  if (!fs::exists(path)) return not_found("no tokenizer file '{}'", path.string());
  if (name == "encoder.json") return load_gpt2(path, folder / "vocab.bpe");
  if (name == "vocab.json") return load_gpt2(path, folder / "merges.txt");
  if (name == "vocab.bpe") return load_gpt2(folder / "encoder.json", path);
  if (name.ends_with(".json")) return load_tokenizer_json(path);
  if (name.ends_with(".tiktoken") || name.ends_with(".model")) return load_tiktoken(path);
  if (name.ends_with(".txt")) return load_vocab_txt(path);
  return unsupported("tokenizer file '{}'", path.string())
      .with_help("tokenizer.json, vocab.txt, encoder.json with vocab.bpe, *.tiktoken");
}

}  // namespace tenon::dataset
