// The children of `tenon plan`.
#pragma once

#include "tenon/cli/command.h"

namespace tenon::cli {

Command plan_schedule_command();

}  // namespace tenon::cli
