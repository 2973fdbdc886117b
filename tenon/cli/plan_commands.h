// The children of `tenon plan`.
#pragma once

#include "tenon/cli/command.h"

namespace tenon::cli {

Command plan_schedule_command();
Command plan_simulate_command();
Command plan_check_command();
Command plan_calibrate_command();
Command plan_accuracy_command();
Command plan_explain_command();
Command plan_diff_command();
Command plan_whatif_command();
Command plan_study_command();
Command plan_export_command();
Command plan_import_command();
Command plan_model_command();
Command plan_largest_command();

}  // namespace tenon::cli
