// Parsing with CLI11, and the one place where its exceptions become errors and exit codes.
#include "tenon/cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <new>

#include "tenon/base/closest.h"
#include "tenon/base/interrupt.h"
#include "tenon/base/version.h"
#include "tenon/cli/common_options.h"
#include "tenon/cli/output.h"

namespace tenon::cli {
namespace {

/// One run of the program.
class Program {
 public:
  Program(const std::vector<Command>& commands, std::FILE* out, std::FILE* err)
      : console_(err), out_(out) {
    root_.require_subcommand(0, 1);
    root_.set_help_flag();
    for (const Command& command : commands) declare(root_, command);
  }

  Exit run(std::vector<std::string> arguments) {
    // Errors must be JSON too when parsing fails before it reaches --json.
    options_.json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
    if (const auto early = answer_without_command(arguments)) return *early;
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    try {
      root_.parse(arguments);
    } catch (const CLI::CallForHelp&) {
      return print_help(active());
    } catch (const CLI::CallForVersion&) {
      return print_version();
    } catch (const CLI::ParseError& problem) {
      return usage_error(parse_problem(problem));
    }
    return execute();
  }

 private:
  void declare(CLI::App& parent, const Command& command) {
    CLI::App& app = *parent.add_subcommand(command.name, command.summary);
    app.set_help_flag("--help,-h", "print this help");
    app.require_subcommand(0, 1);
    runners_[&app] = command.declare(app);
    add_common_options(app, options_);
    if (!command.examples.empty()) {
      app.footer(fmt::format("Examples:\n  {}", fmt::join(command.examples, "\n  ")));
    }
    for (const Command& child : command.children) declare(app, child);
  }

  /// `tenon`, `tenon --help`, `tenon --version` and words that are no command.
  std::optional<Exit> answer_without_command(const std::vector<std::string>& arguments) {
    const std::string first = arguments.empty() ? "" : arguments.front();
    if (first == "--help" || first == "-h" || first == "help")
      return print({{{"help", help()}}, help()});
    if (first == "--version") return print_version();
    if (first.empty())
      return usage_error(invalid("no command given").with_help("tenon --help lists them"));
    if (first.front() == '-') {
      return usage_error(invalid("'{}' stands before the command", first)
                             .with_help("options follow the command: tenon COMMAND [OPTIONS]"));
    }
    const std::vector<std::string> names = children_of(root_);
    if (std::find(names.begin(), names.end(), first) != names.end()) return std::nullopt;
    const std::string guess = did_you_mean(first, names);
    return usage_error(invalid("there is no command '{}'", first)
                           .with_help(guess.empty() ? "tenon --help lists the commands" : guess));
  }

  std::string help() const {
    std::string text =
        "tenon: brings deep-learning models to the machine in front of you\n\n"
        "Usage: tenon COMMAND [OPTIONS]\n\nCommands:\n";
    for (const CLI::App* app : root_.get_subcommands({})) {
      text += fmt::format("  {:<10} {}\n", app->get_name(), app->get_description());
    }
    return text +
           "\ntenon COMMAND --help shows a command's options and examples; tenon --version the "
           "version.\n";
  }

  /// The innermost command that the arguments named.
  CLI::App& active() {
    CLI::App* app = &root_;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
    return *app;
  }

  static std::vector<std::string> children_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* child : app.get_subcommands({})) names.push_back(child->get_name());
    return names;
  }

  /// An unknown word is named before anything that is missing: it is the likelier mistake.
  Error parse_problem(const CLI::ParseError& problem) {
    CLI::App& app = active();
    const std::string hint = fmt::format("{} --help shows what there is", full_name(app));
    const std::vector<std::string> left = root_.remaining(true);
    if (left.empty()) return invalid("{}", problem.what()).with_help(hint);
    const bool is_option = left.front().size() > 1 && left.front().front() == '-';
    const std::string word =
        left.front().substr(0, is_option ? left.front().find('=') : std::string::npos);
    std::vector<std::string> known = is_option ? std::vector<std::string>{} : children_of(app);
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        if (is_option) known.push_back("--" + name);
      }
    }
    const std::string guess = did_you_mean(word, known);
    return invalid("{} has no {} '{}'", full_name(app), is_option ? "option" : "argument", word)
        .with_help(guess.empty() ? hint : guess);
  }

  static std::string full_name(const CLI::App& app) {
    if (!app.get_parent()) return "tenon";
    return full_name(*app.get_parent()) + " " + app.get_name();
  }

  Exit execute() {
    console_.set_quiet(options_.quiet);
    console_.set_verbose(options_.verbose);
    Context context(options_, console_, out_);
    auto answer = guarded(context);
    if (interrupted()) return stop(answer);
    if (answer.ok()) return print(*answer);
    if (context.usage_was_wrong()) return usage_error(answer.error());
    report(answer.error(), name(answer.error().code));
    return exit_of(answer.error().code);
  }

  Result<Answer> guarded(Context& context) {
    try {
      return runners_.at(&active())(context);
    } catch (const std::bad_alloc&) {
      return error(Code::out_of_memory, "out of memory")
          .with_help("use a smaller batch or a machine with more");
    }
  }

  /// Stopped by the user: what there is so far is still shown.
  Exit stop(const Result<Answer>& answer) {
    if (answer.ok()) {
      print(*answer);
      console_.note("interrupted");
    } else {
      report(error(Code::timeout, "interrupted"), "interrupted");
    }
    return Exit::interrupted;
  }

  Exit print(const Answer& answer) {
    console_.clear_progress();
    const Status printed = print_answer(out_, answer, options_.json);
    if (!printed.ok()) {
      print_error(console_, printed.error());
      return Exit::environment;
    }
    return answer.yes ? Exit::done : Exit::answer_is_no;
  }

  Exit print_help(const CLI::App& app) {
    std::string text = app.help();
    const std::string usage = "Usage: ";
    const auto at = text.find(usage + app.get_name());
    if (at != std::string::npos)
      text.replace(at, usage.size() + app.get_name().size(), usage + full_name(app));
    return print({{{"help", text}}, text});
  }

  Exit print_version() {
    return print({{{"version", std::string(version())}}, fmt::format("tenon {}\n", version())});
  }

  Exit usage_error(const Error& problem) {
    report(problem, "usage");
    return Exit::wrong_usage;
  }

  void report(const Error& problem, std::string_view code) {
    print_error(console_, problem);
    if (options_.json) print({error_json(problem, code), {}, false});
  }

  CLI::App root_{"", "tenon"};
  CommonOptions options_;
  std::map<const CLI::App*, Runner> runners_;  // looked up, never iterated
  Console console_;
  std::FILE* out_;
};

}  // namespace

Exit exit_of(Code code) {
  switch (code) {
    case Code::invalid:
    case Code::unsupported:
    case Code::not_found: return Exit::bad_input;
    case Code::io:
    case Code::timeout:
    case Code::peer_lost:
    case Code::out_of_memory: return Exit::environment;
  }
  return Exit::environment;
}

int run_program(const std::vector<std::string>& arguments, const std::vector<Command>& commands,
                std::FILE* out, std::FILE* err) {
  return static_cast<int>(Program(commands, out, err).run(arguments));
}

}  // namespace tenon::cli
