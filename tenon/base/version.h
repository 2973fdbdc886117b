// The version of Tenon.
#pragma once

#include <string_view>

namespace tenon {

/// "0.1.0", as CMakeLists.txt states it.
std::string_view version();

}  // namespace tenon
