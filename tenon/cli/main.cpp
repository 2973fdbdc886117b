// The program `tenon`.
#include <signal.h>
#include <unistd.h>

#include "tenon/base/interrupt.h"
#include "tenon/cli/program.h"

namespace {

/// The first Ctrl-C asks the work to stop cleanly, the second ends the process at once.
extern "C" void on_interrupt(int) {
  tenon::request_interrupt();
  constexpr char text[] = "\nstopping (Ctrl-C again: at once)\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, sizeof text - 1);
}

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESETHAND;  // no SA_RESTART: a blocked read returns and sees the flag
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  catch_interrupts();
  return tenon::cli::run_program({argv + 1, argv + argc}, tenon::cli::all_commands(), stdout,
                                 stderr);
}
