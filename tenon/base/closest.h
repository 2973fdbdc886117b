// The word that a mistyped one most likely meant.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tenon {

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
std::size_t edit_distance(std::string_view from, std::string_view to);

/// The candidate nearest to `word`, the first of equals; none when a third or more of the word
/// would have to change (a far-fetched suggestion is worse than none).
std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates);

/// `did you mean 'X'?`, or an empty string.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace tenon
