// Channels are read from the environment once, at the first question.
#include "tenon/base/log.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace tenon {
namespace {

struct Channel {
  std::string name;
  int level;
};

std::vector<Channel> parse(std::string_view text) {
  std::vector<Channel> channels;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const auto colon = item.find(':');
    int level = 1;
    if (colon != item.npos)
      std::from_chars(item.data() + colon + 1, item.data() + item.size(), level);
    if (!item.empty()) channels.push_back({std::string(item.substr(0, colon)), level});
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
  }
  return channels;
}

std::vector<Channel>& channels() {
  static std::vector<Channel> parsed = [] {
    const char* text = std::getenv("TENON_LOG");
    return parse(text ? text : "");
  }();
  return parsed;
}

}  // namespace

bool log_enabled(std::string_view channel, int level) {
  for (const Channel& c : channels())
    if ((c.name == channel || c.name == "all") && level <= c.level) return true;
  return false;
}

void log_line(std::string_view channel, std::string_view text) {
  const std::string line = fmt::format("{}: {}\n", channel, text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void set_log_channels(std::string_view text) { channels() = parse(text); }

}  // namespace tenon
