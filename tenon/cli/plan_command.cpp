// tenon plan: the planner's commands.
#include "tenon/cli/plan_commands.h"

namespace tenon::cli {
namespace {

Runner declare(CLI::App&) {
  return [](Context& context) -> Result<Answer> {
    return context.wrong_usage("tenon plan needs one of its commands",
                               "tenon plan --help lists them");
  };
}

}  // namespace

Command plan_command() {
  return {.name = "plan",
          .summary = "how to train a model on a cluster",
          .examples =
              {"tenon plan schedule --stages 8 --micro-batches 32 --times times.csv --kind auto"},
          .declare = declare,
          .children = {plan_simulate_command(), plan_check_command(), plan_calibrate_command(),
                       plan_accuracy_command(), plan_schedule_command()}};
}

}  // namespace tenon::cli
