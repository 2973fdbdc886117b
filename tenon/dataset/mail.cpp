// Headers, transfer encodings and multipart bodies (RFC 5322, 2045 to 2047).
#include "tenon/dataset/mail.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include "tenon/base/unicode.h"

namespace tenon::dataset {
namespace {

constexpr int kMaxDepth = 8;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

// Takes the next line off `text`, without its end.
std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Quoted-printable; in words of headers '_' is a space.
std::string decode_quoted(std::string_view text, bool in_word) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_' && in_word) {
      out += ' ';
      continue;
    }
    if (text[i] != '=') {
      out += text[i];
      continue;
    }
    const std::string_view rest = text.substr(i + 1);
    if (rest.starts_with("\r\n") || rest.starts_with("\n")) {  // a soft line end
      i += rest[0] == '\r' ? 2 : 1;
      continue;
    }
    const int high = rest.empty() ? -1 : hex_digit(rest[0]),
              low = rest.size() < 2 ? -1 : hex_digit(rest[1]);
    if (high < 0 || low < 0) {
      out += '=';
      continue;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

// Base64; other characters are passed over, as line ends are.
std::string decode_base64(std::string_view text) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0;
  int have = 0;
  for (char c : text) {
    if (c == '=') break;
    const auto digit = kDigits.find(c);
    if (digit == kDigits.npos) continue;
    bits = (bits << 6 | static_cast<unsigned>(digit)) & 0xffffff;
    have += 6;
    if (have < 8) continue;
    have -= 8;
    out += static_cast<char>(bits >> have & 255);
  }
  return out;
}

std::string as_utf8(std::string text) {
  if (decode_utf8(text)) return text;
  std::string out;
  for (char c : text) append_utf8(static_cast<unsigned char>(c), out);
  return out;
}

// "=?charset?Q?text?=" within a header.
std::string decode_words(std::string_view text) {
  std::string out;
  while (true) {
    const auto at = text.find("=?");
    const auto charset = at == text.npos ? at : text.find('?', at + 2);
    const auto end = charset == text.npos ? charset : text.find("?=", charset + 3);
    if (end == text.npos || charset + 2 >= text.size() || text[charset + 2] != '?')
      return out + as_utf8(std::string(text));
    const char how = static_cast<char>(std::toupper(static_cast<unsigned char>(text[charset + 1])));
    const std::string_view word = text.substr(charset + 3, end - charset - 3);
    out += as_utf8(std::string(text.substr(0, at)));
    out += as_utf8(how == 'B' ? decode_base64(word) : decode_quoted(word, true));
    text.remove_prefix(end + 2);
  }
}

using Headers = std::map<std::string, std::string>;

// Takes the headers and the empty line off `text`; of equal ones the first counts.
Headers take_headers(std::string_view& text) {
  Headers out;
  std::string* last = nullptr;
  if (text.starts_with("From ")) take_line(text);  // of a mailbox file
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.empty()) break;
    if (line[0] == ' ' || line[0] == '\t') {
      if (last) *last += ' ' + std::string(trimmed(line));
      continue;
    }
    const auto colon = line.find(':');
    last = nullptr;
    if (colon == line.npos) continue;
    const auto [at, fresh] = out.try_emplace(lower(trimmed(line.substr(0, colon))),
                                             std::string(trimmed(line.substr(colon + 1))));
    if (fresh) last = &at->second;
  }
  return out;
}

std::string header(const Headers& headers, const char* name) {
  const auto at = headers.find(name);
  return at == headers.end() ? std::string() : at->second;
}

// The boundary of a content type, in quotes or not.
std::string boundary_of(const std::string& type) {
  const auto at = lower(type).find("boundary=");
  if (at == std::string::npos) return {};
  std::string_view rest = std::string_view(type).substr(at + 9);
  if (rest.starts_with('"')) {
    rest.remove_prefix(1);
    return std::string(rest.substr(0, rest.find('"')));
  }
  return std::string(trimmed(rest.substr(0, rest.find(';'))));
}

std::vector<std::string_view> parts_of(std::string_view body, const std::string& boundary) {
  std::vector<std::string_view> out;
  const std::string mark = "--" + boundary;
  const char* start = nullptr;
  while (!body.empty()) {
    const char* line_start = body.data();
    const std::string_view line = take_line(body);
    if (!line.starts_with(mark)) continue;
    if (start) out.emplace_back(start, static_cast<std::size_t>(line_start - start));
    start = body.data();
    if (line.substr(mark.size()).starts_with("--")) return out;
  }
  // The last mark is missing in many real messages.
  if (start) out.emplace_back(start, static_cast<std::size_t>(body.data() - start));
  return out;
}

std::string body_text(const Headers& headers, std::string_view body, int depth) {
  const std::string type = header(headers, "content-type"), kind = lower(type);
  if (depth > kMaxDepth) return {};
  if (kind.starts_with("multipart/") && !boundary_of(type).empty()) {
    std::string out;
    for (std::string_view part : parts_of(body, boundary_of(type))) {
      const Headers inner = take_headers(part);
      const std::string text = body_text(inner, part, depth + 1);
      if (!text.empty() && !out.empty()) out += '\n';
      out += text;
      if (!text.empty() && kind.starts_with("multipart/alternative")) break;
    }
    return out;
  }
  if (kind.starts_with("message/rfc822")) {
    const Headers inner = take_headers(body);
    return decode_words(header(inner, "subject")) + "\n\n" + body_text(inner, body, depth + 1);
  }
  if (!kind.empty() && !kind.starts_with("text")) return {};
  const std::string encoding = lower(header(headers, "content-transfer-encoding"));
  if (encoding.starts_with("quoted-printable")) return as_utf8(decode_quoted(body, false));
  if (encoding.starts_with("base64")) return as_utf8(decode_base64(body));
  return as_utf8(std::string(body));
}

}  // namespace

std::string mail_text(std::string_view message) {
  const Headers headers = take_headers(message);
  return decode_words(header(headers, "subject")) + "\n\n" + body_text(headers, message, 0);
}

}  // namespace tenon::dataset
