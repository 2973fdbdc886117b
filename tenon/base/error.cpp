// Error text and the abort path of broken invariants.
#include "tenon/base/error.h"

#include <cstdio>
#include <cstdlib>

namespace tenon {

std::string_view name(Code code) {
  switch (code) {
    case Code::invalid: return "invalid";
    case Code::unsupported: return "unsupported";
    case Code::not_found: return "not_found";
    case Code::io: return "io";
    case Code::timeout: return "timeout";
    case Code::peer_lost: return "peer_lost";
    case Code::out_of_memory: return "out_of_memory";
  }
  return "unknown";
}

Error& Error::at(std::string_view place) & {
  if (place.empty()) return *this;
  if (!where.empty()) where += ", ";
  where += place;
  return *this;
}

Error&& Error::at(std::string_view place) && { return std::move(at(place)); }

Error&& Error::with_help(std::string_view text) && {
  if (help.empty()) help = text;
  return std::move(*this);
}

std::string Error::text() const {
  return where.empty() ? message : fmt::format("{} [{}]", message, where);
}

void check_failed(const char* file, int line, const char* condition, const std::string& details) {
  std::fprintf(stderr, "tenon: internal error: %s:%d: %s%s%s\n", file, line, condition,
               details.empty() ? "" : ": ", details.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace tenon
