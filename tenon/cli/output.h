// How answers and errors look: one form for people, one JSON object for programs.
#pragma once

#include <cstdio>

#include "tenon/cli/command.h"

namespace tenon::cli {

/// {"error": {"code", "message", "where", "help", "problems"}}; `problems` holds the further ones,
/// all.
Json error_json(const Error& error, std::string_view code);

/// `error: ...`, further problems indented under it (twenty and a count), `help: ...`.
void print_error(Console& console, const Error& error);

/// Writes text or JSON to stdout; an error when stdout cannot take it.
Status print_answer(std::FILE* out, const Answer& answer, bool as_json);

}  // namespace tenon::cli
