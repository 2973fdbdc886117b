// Runs peers.py in a child process.
#include "tenon/migrate/peers.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tenon/base/file.h"
#include "tenon/machine/embedded_file.h"

namespace tenon {
std::span<const EmbeddedFile> peer_files();
}

namespace tenon::migrate {
namespace {

namespace fs = std::filesystem;

// A folder of its own for one exchange, removed at the end.
class ScratchFolder {
 public:
  static Result<ScratchFolder> make() {
    std::string pattern = (fs::temp_directory_path() / "tenon-peer-XXXXXX").string();
    if (!mkdtemp(pattern.data())) return io_error("no temporary folder can be made");
    return ScratchFolder(pattern);
  }
  ScratchFolder(ScratchFolder&& o) noexcept : path_(std::exchange(o.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code e;
    if (!path_.empty()) fs::remove_all(path_, e);
  }
  const fs::path& path() const { return path_; }

 private:
  explicit ScratchFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

// Runs a command with stdout and stderr in files; returns stdout.
Result<std::string> run_child(const std::vector<std::string>& words, const fs::path& folder) {
  const fs::path out = folder / "stdout", err = folder / "stderr";
  const pid_t pid = fork();
  if (pid < 0) return io_error("no child process can be started");
  if (pid == 0) {
    std::vector<char*> argv;
    for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
    argv.push_back(nullptr);
    if (!std::freopen(out.c_str(), "w", stdout) || !std::freopen(err.c_str(), "w", stderr))
      _exit(127);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  if (waitpid(pid, &status, 0) < 0) return io_error("the child process was lost");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return read_file(out);
  std::string problem = read_file(err).ok() ? *read_file(err) : "";
  while (!problem.empty() && problem.back() == '\n') problem.pop_back();
  return unsupported("{}", problem.empty() ? "the engine failed without a word"
                                           : problem.substr(problem.rfind('\n') + 1));
}

Result<Json> ask(std::vector<std::string> words, const NamedTensors& inputs,
                 const ScratchFolder& scratch) {
  const fs::path script = scratch.path() / "peers.py";
  TENON_TRY(write_file_atomic(script, peer_files()[0].text));
  TENON_TRY(write_npz(scratch.path() / "inputs.npz", inputs));
  std::vector<std::string> command = {TENON_TRY(peers_python()).string(), script.string()};
  command.insert(command.end(), words.begin(), words.end());
  const std::string answer = TENON_TRY(run_child(command, scratch.path()));
  return parse_json(answer);
}

}  // namespace

Result<fs::path> peers_python() {
  std::vector<fs::path> places;
  if (const char* chosen = std::getenv("TENON_PEERS_PYTHON")) places.emplace_back(chosen);
  std::error_code e;
  for (fs::path folder = fs::read_symlink("/proc/self/exe", e).parent_path();
       !folder.empty() && folder != folder.parent_path(); folder = folder.parent_path())
    places.push_back(folder / ".venv" / "bin" / "python");
  for (const fs::path& p : places)
    if (fs::exists(p, e)) return p;
  return not_found("no Python environment with other engines is there")
      .with_help("run scripts/setup.sh --peers, or set TENON_PEERS_PYTHON");
}

Result<PeerLayers> peer_layers(const fs::path& model, const NamedTensors& inputs) {
  const ScratchFolder scratch = TENON_TRY(ScratchFolder::make());
  const fs::path out = scratch.path() / "values.npz";
  const Json j = TENON_TRY(ask({"layers", fs::absolute(model).string(),
                                (scratch.path() / "inputs.npz").string(), out.string()},
                               inputs, scratch));
  PeerLayers layers;
  layers.engine = j.value("engine", "");
  NamedTensors values = TENON_TRY(read_npz(out));
  for (auto& [key, tensor] : values) {
    const auto index = static_cast<std::size_t>(std::stoul(key.substr(1)));
    layers.values.emplace(j["names"].at(index).get<std::string>(), tensor.clone());
  }
  return layers;
}

Result<PeerBench> peer_bench(std::string_view engine, const fs::path& model,
                             const NamedTensors& inputs, int threads, double seconds) {
  const ScratchFolder scratch = TENON_TRY(ScratchFolder::make());
  const Json j = TENON_TRY(ask({"bench", std::string(engine), fs::absolute(model).string(),
                                (scratch.path() / "inputs.npz").string(), std::to_string(threads),
                                fmt::format("{}", seconds)},
                               inputs, scratch));
  PeerBench b;
  b.engine = j.value("engine", "");
  b.median_ms = j.value("median_ms", 0.0);
  b.min_ms = j.value("min_ms", 0.0);
  b.peak_memory_bytes = j.value("peak_memory_bytes", std::int64_t{0});
  b.iterations = j.value("iterations", 0);
  return b;
}

}  // namespace tenon::migrate
