#include "tenon/cli/program.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <new>

#include "tenon/base/interrupt.h"
#include "tenon/cli/arguments.h"

namespace tenon::cli {
namespace {

/// What a run of the program left behind.
struct Ran {
  int code = 0;
  std::string out, err;
};

/// Two commands that do what the test asks: `act --as WHAT` with a child `again`, and `shapes`.
struct ActOptions {
  std::string as;
};
Result<Answer> act(const ActOptions& options, Context& context) {
  if (options.as == "no") return Answer{{{"equal", false}}, "not equal\n", false};
  if (options.as == "bad") {
    Error problem =
        invalid("a is 1 but b is 2").at("node n, m.onnx #3").with_help("make them equal");
    for (int i = 0; i < 25; ++i) problem.others.push_back(invalid("problem {}", i));
    return problem;
  }
  if (options.as == "io") return io_error("the disk is gone");
  if (options.as == "usage") return context.wrong_usage("--a without --b", "give both");
  if (options.as == "memory") throw std::bad_alloc();
  if (options.as == "stopped") {
    request_interrupt();
    TENON_TRY(check_interrupt());
  }
  if (options.as == "partial") request_interrupt();
  if (options.as == "lines") {
    if (const Status s = context.print_line("{\"a\":1}"); !s.ok()) return s.error();
    return Answer{};
  }
  context.console.note("a note");
  context.console.detail("a detail");
  return Answer{{{"threads", context.options.num_threads}}, "text\n"};
}

Runner declare_act(CLI::App& app) {
  auto options = std::make_shared<ActOptions>();
  app.add_option("--as", options->as, "what to do");
  return [options](Context& context) { return act(*options, context); };
}

Runner declare_shapes(CLI::App& app) {
  auto shapes = std::make_shared<std::vector<NamedShape>>();
  add_named_shapes(app, "--shape", *shapes, "shapes");
  return [shapes](Context&) -> Result<Answer> {
    Json dims = Json::object();
    for (const NamedShape& shape : *shapes) dims[shape.name] = shape.dims;
    return Answer{dims, "shapes\n"};
  };
}

Ran run(const std::vector<std::string>& arguments) {
  const std::vector<Command> commands = {
      {"act", "acts", {"tenon act"}, declare_act, {{"again", "acts again", {}, declare_act, {}}}},
      {"shapes", "shows shapes", {}, declare_shapes, {}}};
  Ran ran;
  char *out = nullptr, *err = nullptr;
  std::size_t out_size = 0, err_size = 0;
  std::FILE* out_file = open_memstream(&out, &out_size);
  std::FILE* err_file = open_memstream(&err, &err_size);
  ran.code = run_program(arguments, commands, out_file, err_file);
  std::fclose(out_file);
  std::fclose(err_file);
  ran.out.assign(out, out_size);
  ran.err.assign(err, err_size);
  std::free(out);
  std::free(err);
  clear_interrupt();
  return ran;
}

TEST(Program, TextOnStdoutTheRestOnStderr) {
  const Ran ran = run({"act"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "text\n");
  EXPECT_EQ(ran.err, "a note\n");
  EXPECT_EQ(run({"act", "--quiet"}).err, "");
  EXPECT_EQ(run({"act", "--verbose"}).err, "a note\na detail\n");
}

TEST(Program, JsonIsTheOnlyThingOnStdout) {
  EXPECT_EQ(run({"act", "--threads", "3", "--json"}).out, "{\"threads\":3}\n");
  EXPECT_EQ(run({"act", "--json", "--threads=2"}).out, "{\"threads\":2}\n");
  EXPECT_EQ(run({"act", "again", "--json", "--threads=5"}).out, "{\"threads\":5}\n");
  EXPECT_EQ(run({"act", "--as", "lines", "--json"}).out, "{\"a\":1}\n");
}

TEST(Program, ExitCodesFollowTheKindOfFailure) {
  EXPECT_EQ(run({"act", "--as", "no"}).code, 1);
  EXPECT_EQ(run({"act", "--as", "usage"}).code, 2);
  EXPECT_EQ(run({"act", "--as", "bad"}).code, 3);
  EXPECT_EQ(run({"act", "--as", "io"}).code, 4);
  EXPECT_EQ(run({"act", "--as", "memory"}).code, 4);
  EXPECT_EQ(run({"act", "--as", "stopped"}).code, 130);
}

TEST(Program, ErrorsNameThePlaceAndTheRemedy) {
  const Ran ran = run({"act", "--as", "bad"});
  EXPECT_TRUE(ran.err.starts_with("error: a is 1 but b is 2 [node n, m.onnx #3]\n  problem 0\n"))
      << ran.err;
  EXPECT_TRUE(
      ran.err.ends_with("  problem 19\n  and 5 more (all with --json)\nhelp: make them equal\n"))
      << ran.err;
  EXPECT_EQ(ran.out, "");
}

TEST(Program, ErrorsAreJsonToo) {
  const Json json = Json::parse(run({"act", "--as", "bad", "--json"}).out);
  EXPECT_EQ(json["error"]["code"], "invalid");
  EXPECT_EQ(json["error"]["where"], "node n, m.onnx #3");
  EXPECT_EQ(json["error"]["problems"].size(), 25u);
  EXPECT_EQ(Json::parse(run({"act", "--nope", "--json"}).out)["error"]["code"], "usage");
  EXPECT_EQ(Json::parse(run({"act", "--as", "stopped", "--json"}).out)["error"]["code"],
            "interrupted");
}

TEST(Program, InterruptedWorkStillShowsWhatItHas) {
  const Ran ran = run({"act", "--as", "partial", "--json"});
  EXPECT_EQ(ran.code, 130);
  EXPECT_EQ(ran.out, "{\"threads\":0}\n");
}

TEST(Program, WrongUsageIsNamedWithASuggestion) {
  EXPECT_EQ(run({}).code, 2);
  EXPECT_EQ(run({"atc"}).err, "error: there is no command 'atc'\nhelp: did you mean 'act'?\n");
  EXPECT_EQ(run({"act", "--thread=2"}).err,
            "error: tenon act has no option '--thread'\nhelp: did you mean '--threads'?\n");
  EXPECT_EQ(run({"act", "agian"}).err,
            "error: tenon act has no argument 'agian'\nhelp: did you mean 'again'?\n");
  EXPECT_EQ(run({"act", "--threads", "x"}).code, 2);
  EXPECT_EQ(run({"act", "--precision", "fp23"}).code, 2);
  EXPECT_EQ(run({"--json", "act"}).code, 2);
}

TEST(Program, ShapesRepeat) {
  EXPECT_EQ(run({"shapes", "--shape", "a=1,2", "--shape", "b=3", "--json"}).out,
            "{\"a\":[1,2],\"b\":[3]}\n");
  const Ran bad = run({"shapes", "--shape", "a=1,-2"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_TRUE(bad.err.starts_with("error: --shape: dimension '-2'")) << bad.err;
}

TEST(Program, HelpAndVersion) {
  EXPECT_NE(run({"--help"}).out.find("act        acts\n"), std::string::npos);
  const Ran help = run({"act", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.out.find("Usage: tenon act [OPTIONS]"), std::string::npos) << help.out;
  EXPECT_NE(help.out.find("Examples:\n  tenon act"), std::string::npos) << help.out;
  EXPECT_TRUE(run({"--version"}).out.starts_with("tenon "));
  EXPECT_EQ(run({"act", "--version"}).out, run({"--version"}).out);
}

TEST(Program, AFullDiskIsAnErrorOfTheEnvironment) {
  std::FILE* full = std::fopen("/dev/full", "w");
  std::FILE* err = std::tmpfile();
  ASSERT_TRUE(full && err);
  const std::vector<Command> commands = {{"act", "acts", {}, declare_act, {}}};
  EXPECT_EQ(run_program({"act"}, commands, full, err), 4);
  std::fclose(full);
  std::fclose(err);
}

}  // namespace
}  // namespace tenon::cli
