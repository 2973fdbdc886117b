#include "tenon/planner/exports/shell_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

namespace tenon::planner {
namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Whole-number arithmetic of $((...)): + - * / and parentheses, by recursive descent.
class Arithmetic {
 public:
  explicit Arithmetic(std::string_view text) : text_(text) {}
  std::optional<std::int64_t> value() {
    const auto result = sum();
    skip();
    if (!result || at_ != text_.size()) return std::nullopt;
    return result;
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::optional<std::int64_t> sum() {
    auto left = product();
    while (left) {
      const bool plus = take('+');
      if (!plus && !take('-')) break;
      const auto right = product();
      if (!right) return std::nullopt;
      left = plus ? *left + *right : *left - *right;
    }
    return left;
  }
  std::optional<std::int64_t> product() {
    auto left = unit();
    while (left) {
      const bool times = take('*');
      if (!times && !take('/')) break;
      const auto right = unit();
      constexpr std::int64_t kLarge = std::int64_t{1} << 31;
      if (!right || (!times && *right == 0) || std::abs(*left) > kLarge ||
          std::abs(*right) > kLarge)
        return std::nullopt;
      left = times ? *left * *right : *left / *right;
    }
    return left;
  }
  std::optional<std::int64_t> unit() {
    if (depth_ > 64) return std::nullopt;
    if (take('(')) {
      ++depth_;
      const auto inner = sum();
      --depth_;
      return inner && take(')') ? inner : std::nullopt;
    }
    skip();
    std::int64_t value = 0;
    const auto [end, failed] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (failed != std::errc()) return std::nullopt;
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

class ScriptReader {
 public:
  explicit ScriptReader(std::string_view text) : text_(text) {}

  std::vector<std::vector<ShellWord>> commands() {
    while (at_ < text_.size()) step();
    end_command();
    return std::move(commands_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') {
      at_ += 2, ++line_;
    } else if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == '\n') {
      if (array_.empty()) end_command();
      ++at_, ++line_;
    } else if (c == ';' || c == '&' || c == '|') {
      end_command(), ++at_;
    } else if (c == ')' && !array_.empty()) {
      arrays_[array_] = std::move(words_);
      words_.clear(), array_.clear(), ++at_;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == '(' || c == ')') {
      ++at_;
    } else {
      read_word();
    }
  }

  void end_command() {
    if (!words_.empty()) commands_.push_back(std::move(words_));
    words_.clear();
  }

  bool starts_array() const { return at_ < text_.size() && text_[at_] == '('; }

  /// NAME= or NAME+= in front of a command: the name, or nothing.
  std::string assigned_name() const {
    if (!array_.empty()) return {};
    for (const ShellWord& word : words_) {
      if (word.text != "export" && word.text != "local" && word.text != "declare") return {};
    }
    std::size_t end = at_;
    while (end < text_.size() && is_name(text_[end])) ++end;
    const bool equal = end > at_ && end < text_.size() && text_[end] == '=';
    return equal ? std::string(text_.substr(at_, end - at_)) : std::string();
  }

  void read_word() {
    const std::string name = assigned_name();
    if (!name.empty()) {
      at_ += name.size() + 1;
      if (starts_array()) {
        ++at_, array_ = name;
        return words_.clear();
      }
    }
    const int line = line_;
    bool quoted = false;
    std::string word;
    const std::size_t before = words_.size();
    read_pieces(word, quoted);
    if (!name.empty()) {
      variables_[name] = word;
      words_.clear();
    } else if (!word.empty() || (quoted && words_.size() == before)) {
      add(std::move(word), quoted, line);
    }
  }

  /// An unquoted variable falls into words, as scripts that keep all arguments in one string need.
  void add(std::string word, bool quoted, int line) {
    if (quoted || word.find_first_of(" \t\n") == std::string::npos) {
      return words_.push_back({std::move(word), line});
    }
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t end = std::min(word.find_first_of(" \t\n", at), word.size());
      if (end > at && word.substr(at, end - at) != "\\")
        words_.push_back({word.substr(at, end - at), line});
      at = end + 1;
    }
  }

  void read_pieces(std::string& word, bool& quoted) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size()) {
        if (text_[at_ + 1] == '\n') return;
        word += text_[at_ + 1], at_ += 2;
      } else if (c == '\'') {
        quoted = true;
        const auto end = std::min(text_.find('\'', at_ + 1), text_.size());
        append_text(text_.substr(at_ + 1, end - at_ - 1), word);
        at_ = std::min(end + 1, text_.size());
      } else if (c == '"') {
        quoted = true, ++at_;
        read_quoted(word);
      } else if (c == '$') {
        word += read_variable();
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == ';' || c == '|' ||
                 c == '&' || c == ')' || c == '(') {
        return;
      } else {
        word += c, ++at_;
      }
    }
  }

  void append_text(std::string_view piece, std::string& word) {
    line_ += static_cast<int>(std::count(piece.begin(), piece.end(), '\n'));
    word += piece;
  }

  void read_quoted(std::string& word) {
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        if (text_[at_ + 1] == '\n') {
          ++line_;
        } else {
          word += text_[at_ + 1];
        }
        at_ += 2;
      } else if (text_[at_] == '$') {
        word += read_variable();
      } else {
        if (text_[at_] == '\n') ++line_;
        word += text_[at_++];
      }
    }
    if (at_ < text_.size()) ++at_;
  }

  /// At '$': the variable's text. Arrays are put among the words at once.
  std::string read_variable() {
    const std::size_t start = at_++;
    if (at_ < text_.size() && text_[at_] == '(') return read_substitution(start);
    std::string inside;
    if (at_ < text_.size() && text_[at_] == '{') {
      const auto end = text_.find('}', at_);
      if (end == std::string_view::npos) return std::string(1, '$');
      inside = std::string(text_.substr(at_ + 1, end - at_ - 1)), at_ = end + 1;
    } else {
      while (at_ < text_.size() && is_name(text_[at_])) inside += text_[at_++];
      if (inside.empty() && at_ < text_.size()) inside = text_[at_++];  // $@, $#
    }
    return value_of(inside, start);
  }

  std::string value_of(const std::string& inside, std::size_t start) {
    const auto bracket = inside.find('[');
    if (bracket != std::string::npos) {
      const auto array = arrays_.find(inside.substr(0, bracket));
      if (array == arrays_.end()) return {};
      words_.insert(words_.end(), array->second.begin(), array->second.end());
      return {};
    }
    const auto colon = inside.find(":-");
    const auto found = variables_.find(inside.substr(0, colon));
    if (found != variables_.end()) return found->second;
    if (colon != std::string::npos) return inside.substr(colon + 2);
    const auto array = arrays_.find(inside);
    if (array != arrays_.end()) {
      words_.insert(words_.end(), array->second.begin(), array->second.end());
      return {};
    }
    return std::string(text_.substr(start, at_ - start));
  }

  /// "$(...)": arithmetic is evaluated; the output of a command is not known and stays as text.
  std::string read_substitution(std::size_t start) {
    int depth = 0;
    do {
      depth += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
      if (text_[at_] == '\n') ++line_;
      ++at_;
    } while (at_ < text_.size() && depth > 0);
    const std::string whole(text_.substr(start, at_ - start));
    if (!whole.starts_with("$((") || !whole.ends_with("))")) return whole;
    std::string expression;
    for (std::size_t i = 3; i + 2 < whole.size();) {
      if (whole[i] == '$' || whole[i] == '{' || whole[i] == '}') {
        ++i;
      } else if (is_name(whole[i]) && std::isdigit(static_cast<unsigned char>(whole[i])) == 0) {
        std::size_t end = i;
        while (end < whole.size() && is_name(whole[end])) ++end;
        const auto found = variables_.find(whole.substr(i, end - i));
        if (found == variables_.end()) return whole;
        expression += found->second, i = end;
      } else {
        expression += whole[i++];
      }
    }
    const auto value = Arithmetic(expression).value();
    return value ? std::to_string(*value) : whole;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::string array_;  // the array that is being read
  std::vector<ShellWord> words_;
  std::vector<std::vector<ShellWord>> commands_;
  std::map<std::string, std::string> variables_;
  std::map<std::string, std::vector<ShellWord>> arrays_;
};

/// The position behind the script or module that a command runs; 0 where it runs none.
std::size_t behind_script(const std::vector<ShellWord>& command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    const bool program = command[i].text.ends_with(".py") || command[i].text.ends_with(".sh");
    if (program && !command[i].text.starts_with("-")) return i + 1;
    const bool module = command[i].text == "-m" || command[i].text == "--module";
    if (!module || i + 1 == command.size()) continue;
    const std::string& name = command[i + 1].text;
    const bool launcher = name.starts_with("torch.distributed") || name == "deepspeed";
    if (name.find('.') != std::string::npos && !launcher) return i + 2;
  }
  return 0;
}

}  // namespace

Result<LaunchCommand> read_launch_script(std::string_view text, std::string_view where) {
  const auto commands = ScriptReader(text).commands();
  LaunchCommand launch;
  for (const auto& command : commands) {
    const std::size_t cut = behind_script(command);
    if (cut == 0 || cut == command.size()) continue;  // a script without arguments is set-up
    launch.launcher.assign(command.begin(), command.begin() + static_cast<std::ptrdiff_t>(cut));
    launch.arguments.assign(command.begin() + static_cast<std::ptrdiff_t>(cut), command.end());
  }
  if (!launch.launcher.empty()) return launch;
  for (const auto& command : commands) {  // a list of arguments, one or several a line
    const bool is_list = !command.empty() && command.front().text.starts_with("-");
    if (is_list) {
      launch.arguments.insert(launch.arguments.end(), command.begin(), command.end());
    }
  }
  if (launch.arguments.empty()) {
    return invalid("no command that runs a training script, and no list of arguments")
        .at(where)
        .with_help("give the launch script, or its arguments, one --name value a line");
  }
  return launch;
}

}  // namespace tenon::planner
