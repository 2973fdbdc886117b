// The wish to stop: a flag that a signal sets and that long work polls.
#pragma once

#include "tenon/base/error.h"

namespace tenon {

/// Whether stopping was asked for. Cheap enough for every iteration of a loop.
bool interrupted() noexcept;
/// Asks for the stop. Safe in a signal handler.
void request_interrupt() noexcept;
/// Forgets the wish: for tests, and for servers that survive it.
void clear_interrupt() noexcept;

/// An error once stopping was asked for, so that `TENON_TRY(check_interrupt())` leaves a loop with
/// everything unwound. The program then exits with 130 whatever the error says.
Status check_interrupt();

}  // namespace tenon
