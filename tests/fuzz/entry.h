// The entry point of a fuzzer, and what its inputs look like to our parsers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace tenon::fuzz {

inline std::span<const std::byte> bytes(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}
inline std::string_view text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}
/// An owner for parsers that borrow: the input outlives the call.
inline std::shared_ptr<const void> borrowed(const std::uint8_t* data) {
  return {data, [](const void*) {}};
}

/// Reads every byte, so that sanitizers see a view that reaches outside its storage.
inline void touch(std::span<const std::byte> view) {
  volatile std::byte sink{};
  for (const std::byte b : view) sink = b;
  static_cast<void>(sink);
}

}  // namespace tenon::fuzz
