// Merging by rank: repeated minimum for short words, a heap over a linked list for long ones, and a
// small cache of words for each thread, since text repeats itself.
#include "tenon/dataset/byte_pair.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <queue>

#include "tenon/base/unicode.h"

namespace tenon::dataset {
namespace {

constexpr std::size_t kShortWord = 64;

std::uint64_t pair_of(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

std::size_t spread(std::uint64_t x) {
  x *= 0x9e3779b97f4a7c15;
  return static_cast<std::size_t>(x ^ x >> 32);
}

// Direct-mapped; an entry holds a short word and its few tokens within one cache line.
struct WordCache {
  struct Entry {
    std::uint8_t length = 0, count = 0;
    char word[30];
    TokenId ids[8];
  };
  std::uint64_t owner = 0;
  std::vector<Entry> entries;

  Entry* slot(std::string_view word, std::uint64_t serial) {
    if (word.size() > sizeof(Entry::word)) return nullptr;
    if (owner != serial) {
      owner = serial;
      entries.assign(1 << 13, {});
    }
    return &entries[std::hash<std::string_view>{}(word) & (entries.size() - 1)];
  }
};
thread_local WordCache word_cache;

// GPT-2 writes byte b as the character b where that is printable Latin-1, and as U+0100 + k for the
// k-th other byte.
std::array<std::uint32_t, 256> printable_of_bytes() {
  std::array<std::uint32_t, 256> table;
  std::uint32_t next = 256;
  for (std::uint32_t b = 0; b < 256; ++b) {
    const bool itself = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    table[b] = itself ? b : next++;
  }
  return table;
}

}  // namespace

std::optional<std::string> bytes_of_printable(std::string_view text) {
  static const auto inverse = [] {
    std::array<int, 512> table;
    table.fill(-1);
    const auto forward = printable_of_bytes();
    for (int b = 0; b < 256; ++b) table[forward[static_cast<std::size_t>(b)]] = b;
    return table;
  }();
  std::string out;
  while (!text.empty()) {
    std::uint32_t c = 0;
    const int n = utf8_length(text, &c);
    if (n == 0 || c >= 512 || inverse[c] < 0) return std::nullopt;
    out += static_cast<char>(inverse[c]);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return out;
}

Result<std::shared_ptr<BytePair>> BytePair::create(std::vector<std::string> vocabulary,
                                                   std::vector<Merge> merges,
                                                   BytePairOptions options) {
  static std::atomic<std::uint64_t> serials{0};
  auto t = std::make_shared<BytePair>();
  t->options_ = options;
  t->vocabulary_ = std::move(vocabulary);
  t->serial_ = ++serials;
  t->ids_.reserve(t->vocabulary_.size());
  for (std::size_t i = 0; i < t->vocabulary_.size(); ++i)
    if (!t->vocabulary_[i].empty()) t->ids_.emplace(t->vocabulary_[i], static_cast<TokenId>(i));
  for (int b = 0; b < 256; ++b) {
    const auto id = t->id_of(std::string(1, static_cast<char>(b)));
    if (!id) return invalid("the vocabulary has no token for byte {}", b);
    t->byte_ids_.push_back(*id);
  }
  t->rules_.resize(1024);
  for (std::size_t i = 0; i < merges.size(); ++i)
    t->add_rule(merges[i].left, merges[i].right, static_cast<std::uint32_t>(i), merges[i].result);
  if (merges.empty()) t->make_rules_from_ranks();
  return t;
}

// Any two neighbours whose bytes together are a token may merge, the lowest such token first.
void BytePair::make_rules_from_ranks() {
  for (std::size_t id = 0; id < vocabulary_.size(); ++id) {
    const std::string_view bytes = vocabulary_[id];
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
      const auto left = ids_.find(bytes.substr(0, cut)), right = ids_.find(bytes.substr(cut));
      if (left != ids_.end() && right != ids_.end())
        add_rule(left->second, right->second, static_cast<std::uint32_t>(id),
                 static_cast<TokenId>(id));
    }
  }
}

void BytePair::add_rule(TokenId left, TokenId right, std::uint32_t rank, TokenId result) {
  if (2 * (num_rules_ + 1) > rules_.size()) {
    std::vector<Rule> old = std::exchange(rules_, std::vector<Rule>(rules_.size() * 2));
    num_rules_ = 0;
    for (const Rule& r : old)
      if (r.result >= 0)
        add_rule(static_cast<TokenId>(r.pair >> 32), static_cast<TokenId>(r.pair & 0xffffffff),
                 r.rank, r.result);
  }
  const std::uint64_t pair = pair_of(left, right);
  std::size_t at = spread(pair) & (rules_.size() - 1);
  while (rules_[at].result >= 0 && rules_[at].pair != pair) at = (at + 1) & (rules_.size() - 1);
  if (rules_[at].result >= 0) return;  // the first of two equal merges counts
  rules_[at] = {pair, rank, result};
  ++num_rules_;
}

const BytePair::Rule* BytePair::find_rule(TokenId left, TokenId right) const {
  const std::uint64_t pair = pair_of(left, right);
  for (std::size_t at = spread(pair) & (rules_.size() - 1); rules_[at].result >= 0;
       at = (at + 1) & (rules_.size() - 1))
    if (rules_[at].pair == pair) return &rules_[at];
  return nullptr;
}

void BytePair::encode_plain(std::string_view text, std::vector<TokenId>& ids) const {
  std::string with_space;
  if (options_.add_prefix_space && !text.starts_with(' ')) {
    with_space = " " + std::string(text);
    text = with_space;
  }
  while (!text.empty()) {
    const std::size_t n = next_word(text, options_.pattern);
    encode_word(text.substr(0, n), ids);
    text.remove_prefix(n);
  }
}

void BytePair::encode_word(std::string_view word, std::vector<TokenId>& ids) const {
  if (options_.ignore_merges)
    if (const auto id = id_of(word)) return ids.push_back(*id);
  WordCache::Entry* entry = word_cache.slot(word, serial_);
  if (entry && entry->length == word.size() &&
      std::memcmp(entry->word, word.data(), word.size()) == 0) {
    ids.insert(ids.end(), entry->ids, entry->ids + entry->count);
    return;
  }
  std::vector<TokenId> symbols;
  symbols.reserve(word.size());
  for (char c : word) symbols.push_back(byte_ids_[static_cast<unsigned char>(c)]);
  if (symbols.size() <= kShortWord)
    merge_short(symbols);
  else
    merge_long(symbols);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
  if (!entry || symbols.size() > std::size(entry->ids)) return;
  entry->length = static_cast<std::uint8_t>(word.size());
  entry->count = static_cast<std::uint8_t>(symbols.size());
  std::memcpy(entry->word, word.data(), word.size());
  std::copy(symbols.begin(), symbols.end(), entry->ids);
}

void BytePair::merge_short(std::vector<TokenId>& symbols) const {
  while (symbols.size() > 1) {
    const Rule* best = nullptr;
    std::size_t where = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const Rule* r = find_rule(symbols[i], symbols[i + 1]);
      if (r && (!best || r->rank < best->rank)) best = r, where = i;
    }
    if (!best) return;
    symbols[where] = best->result;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(where) + 1);
  }
}

void BytePair::merge_long(std::vector<TokenId>& symbols) const {
  struct Candidate {
    std::uint32_t rank;
    std::size_t left, right;
    TokenId left_id, right_id, result;
    bool operator<(const Candidate& o) const {
      return rank != o.rank ? rank > o.rank : left > o.left;
    }
  };
  const std::size_t n = symbols.size();
  std::vector<std::size_t> next(n), previous(n);
  std::priority_queue<Candidate> heap;
  const auto offer = [&](std::size_t left, std::size_t right) {
    if (const Rule* r = find_rule(symbols[left], symbols[right]))
      heap.push({r->rank, left, right, symbols[left], symbols[right], r->result});
  };
  for (std::size_t i = 0; i < n; ++i) next[i] = i + 1, previous[i] = i - 1;
  for (std::size_t i = 0; i + 1 < n; ++i) offer(i, i + 1);
  while (!heap.empty()) {
    const Candidate c = heap.top();
    heap.pop();
    // Stale when a side has been merged since; merged-away symbols are -1.
    if (symbols[c.left] != c.left_id || next[c.left] != c.right || symbols[c.right] != c.right_id)
      continue;
    symbols[c.left] = c.result;
    symbols[c.right] = -1;
    next[c.left] = next[c.right];
    if (next[c.right] < n) {
      previous[next[c.right]] = c.left;
      offer(c.left, next[c.left]);
    }
    if (previous[c.left] < n) offer(previous[c.left], c.left);
  }
  std::erase(symbols, -1);
}

std::string BytePair::decode(std::span<const TokenId> ids, bool skip_special) const {
  std::string out;
  for (TokenId id : ids) {
    if (is_special(id)) {
      if (skip_special) continue;
      for (const SpecialToken& t : special_tokens())
        if (t.id == id) {
          out += t.text;
          break;
        }
    } else if (id >= 0 && id < vocabulary_size()) {
      out += vocabulary_[static_cast<std::size_t>(id)];
    }
  }
  return out;
}

std::optional<TokenId> BytePair::id_of(std::string_view token) const {
  const auto at = ids_.find(token);
  return at == ids_.end() ? std::nullopt : std::optional(at->second);
}

std::string BytePair::token(TokenId id) const {
  return id >= 0 && id < vocabulary_size() ? vocabulary_[static_cast<std::size_t>(id)]
                                           : std::string();
}

}  // namespace tenon::dataset
