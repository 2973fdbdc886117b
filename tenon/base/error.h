// Errors of the world and the caller: Result<T>, Status, and the macros that pass them up.
//
// Three kinds of failure are never mixed (docs/architecture.md): bad input is a Result, a broken
// invariant is TENON_CHECK, and "no" is a Verdict.
#pragma once

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenon {

enum class Code { invalid, unsupported, not_found, io, timeout, peer_lost, out_of_memory };

/// The stable lower-case name of a code, as JSON shows it.
std::string_view name(Code code);

/// What disagrees with what (`message`), where, and what to do about it (`help`).
/// Text is lower case without a final period. `others` holds further problems of the same input.
struct Error {
  Code code = Code::invalid;
  std::string message;
  std::string where;
  std::string help;
  std::vector<Error> others;

  /// Adds an outer place: "node enc.3/proj, model.onnx #418". The first place stays the innermost.
  Error& at(std::string_view place) &;
  Error&& at(std::string_view place) &&;
  Error&& with_help(std::string_view text) &&;
  /// "message [where]".
  std::string text() const;
};

template <class... Args>
Error error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, fmt::format(format, std::forward<Args>(args)...), {}, {}, {}};
}
template <class... Args>
Error invalid(fmt::format_string<Args...> format, Args&&... args) {
  return error(Code::invalid, format, std::forward<Args>(args)...);
}
template <class... Args>
Error unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return error(Code::unsupported, format, std::forward<Args>(args)...);
}
template <class... Args>
Error not_found(fmt::format_string<Args...> format, Args&&... args) {
  return error(Code::not_found, format, std::forward<Args>(args)...);
}
template <class... Args>
Error io_error(fmt::format_string<Args...> format, Args&&... args) {
  return error(Code::io, format, std::forward<Args>(args)...);
}

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& details);

/// Our own fault: a broken invariant, on in release builds. No user input may reach it.
#define TENON_CHECK(condition, ...)                                                         \
  do {                                                                                      \
    if (!(condition)) [[unlikely]]                                                          \
      ::tenon::check_failed(__FILE__, __LINE__, #condition, ::tenon::details(__VA_ARGS__)); \
  } while (false)

inline std::string details() { return {}; }
template <class... Args>
std::string details(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}

/// A value or an Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit
  template <class U>
    requires(std::is_constructible_v<T, U &&> && std::is_convertible_v<U &&, T> &&
             !std::is_same_v<std::remove_cvref_t<U>, Error> &&
             !std::is_same_v<std::remove_cvref_t<U>, T> &&
             !std::is_same_v<std::remove_cvref_t<U>, Result>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}  // NOLINT: implicit
  Result(Error error)                                                            // NOLINT: implicit
      : state_(std::in_place_index<1>, std::make_unique<Error>(std::move(error))) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return require(), std::get<0>(state_); }
  const T& value() const& { return require(), std::get<0>(state_); }
  T&& value() && { return require(), std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const& { return *std::get<1>(state_); }
  Error& error() & { return *std::get<1>(state_); }
  Error error() && { return std::move(*std::get<1>(state_)); }

 private:
  void require() const { TENON_CHECK(ok(), "value() of an error: {}", error().text()); }
  std::variant<T, std::unique_ptr<Error>> state_;
};

/// Success or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}  // NOLINT: implicit
  bool ok() const { return error_ == nullptr; }
  explicit operator bool() const { return ok(); }
  void value() const { TENON_CHECK(ok(), "value() of an error: {}", error_->text()); }
  const Error& error() const& { return *error_; }
  Error& error() & { return *error_; }
  Error error() && { return std::move(*error_); }

 private:
  std::unique_ptr<Error> error_;
};
using Status = Result<void>;

#define TENON_CONCAT_(a, b) a##b
#define TENON_CONCAT(a, b) TENON_CONCAT_(a, b)
#define TENON_TRY_(name, expression)  \
  ({                                  \
    auto name = (expression);         \
    if (!name.ok()) [[unlikely]]      \
      return std::move(name).error(); \
    std::move(name).value();          \
  })
/// The value of a Result, or return its Error: `auto x = TENON_TRY(read(path));`.
#define TENON_TRY(...) TENON_TRY_(TENON_CONCAT(tenon_try_, __COUNTER__), (__VA_ARGS__))
/// The same, adding a place to the error.
#define TENON_TRY_AT(place, ...) \
  TENON_TRY(::tenon::placed((__VA_ARGS__), [&] { return std::string(place); }))

template <class T, class Place>
Result<T> placed(Result<T> result, Place place) {
  if (!result.ok()) return std::move(result).error().at(place());
  return result;
}

/// "No" as an answer: whether something is supported, and the reason when it is not.
struct Verdict {
  bool yes = true;
  std::string reason;
  static Verdict no(std::string why) { return {false, std::move(why)}; }
  explicit operator bool() const { return yes; }
};

}  // namespace tenon
