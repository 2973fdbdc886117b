#!/usr/bin/env python3
"""Time and memory of one training step, against PyTorch eager and torch.compile on the same machine.

    scripts/setup.sh --torch
    benchmarks/train_step.py [MODEL...] [--pairs 9] [--steps 3] [--threads 2] [--no-compile] [--json FILE]

Every pair runs `--steps` steps of each contender, one after the other, and takes the median of each; the figure of a
model is the median over pairs of Tenon's time by the better PyTorch's of the same pair. Data is random, fp32.
"""
import argparse
import json
import math
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/train"))
SGD = {"kind": "sgd", "learning_rate": 0.01, "momentum": 0.9}
ADAMW = {"kind": "adamw", "learning_rate": 1e-4}

# name -> ([model], [optimizer], batch, fields: name -> (dims, below; -1: 0 or 1))
MODELS = {
    "resnet18": ({"kind": "resnet", "depth": 18, "classes": 1000}, SGD, 16,
                 {"image": ([3, 224, 224], 0), "label": ([], 1000)}),
    "resnet50": ({"kind": "resnet", "depth": 50, "classes": 1000}, SGD, 8,
                 {"image": ([3, 224, 224], 0), "label": ([], 1000)}),
    "bert_base": ({"kind": "bert", "layers": 12, "hidden": 768, "heads": 12, "vocab": 30522, "sequence": 512,
                   "dropout": 0.0, "classes": 2}, ADAMW, 8, {"tokens": ([128], 30522), "label": ([], 2)}),
    "gpt2_small": ({"kind": "gpt", "layers": 12, "hidden": 768, "heads": 12, "vocab": 50257, "sequence": 1024},
                   ADAMW, 4, {"tokens": ([256], 50257), "targets": ([256], 50257)}),
    "lstm_tagger": ({"kind": "lstm_tagger", "vocab": 10000, "embedding": 128, "hidden": 256, "classes": 50}, ADAMW, 32,
                    {"tokens": ([64], 10000), "targets": ([64], 50)}),
    "wide_and_deep": ({"kind": "wide_and_deep", "buckets": 1000, "embedding": 16, "hidden": [256, 128, 64]}, ADAMW, 512,
                      {"numeric": ([13], 0), "categories": ([26], 1000), "label": ([], 0)}),
}


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {toml(v)}" for k, v in value.items()) + " }"
    return json.dumps(value)


def training_file(folder, name):
    model, optimizer, batch, fields = MODELS[name]
    drawn = {k: {"dims": dims, "below": below} if below > 0 else {"dims": dims, "uniform": k == "label"}
             for k, (dims, below) in fields.items()}
    path = pathlib.Path(folder) / f"{name}.toml"
    path.write_text(f"seed = 1\nmodel = {toml(model)}\noptimizer = {toml(optimizer)}\ntrain = {toml({'batch': batch})}\n"
                    f"data = {toml({'kind': 'random', 'samples': 4 * batch, 'fields': drawn})}\n")
    return path


def tenon_pair(path, steps, threads):
    done = subprocess.run([os.environ.get("TENON", ROOT / "build/tenon"), "train", path, "--benchmark", str(steps + 1),
                           "--threads", str(threads), "--json"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"tenon: {done.stdout}{done.stderr}")
    answer = json.loads(done.stdout)
    return answer["step_seconds"]["median"], answer["peak_memory_bytes"], answer["interpreted_operators"]


class Torch:
    """A process with the twin, which runs steps when asked."""

    def __init__(self, python, name, mode, threads):
        self.child = subprocess.Popen([python, __file__, "--child", name, mode, str(threads)], text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ask(1)  # compiles, allocates

    def ask(self, steps):
        print(steps, file=self.child.stdin, flush=True)
        line = self.child.stdout.readline()
        if not line:
            raise SystemExit("PyTorch's process ended")
        return json.loads(line)

    def close(self):
        self.child.stdin.close()
        self.child.wait()


def serve(name, mode, threads):
    import torch
    import torch_twins
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    section, optimizer, size, fields = MODELS[name]
    twin = torch_twins.make({**section, "columns": 26, "numbers": 13}).train()
    options = {k: v for k, v in optimizer.items() if k not in ("kind", "learning_rate")}
    kind = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[optimizer["kind"]]
    update = kind(twin.parameters(), lr=optimizer["learning_rate"], **options)
    batch = {k: torch.randint(0, below, (size, *dims)) if below > 0 else torch.rand(size, *dims)
             for k, (dims, below) in fields.items()}
    loss_of = torch.compile(torch_twins.loss_of) if mode == "compiled" else torch_twins.loss_of
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            start = time.perf_counter()
            loss = loss_of(twin, batch)
            update.zero_grad()
            loss.backward()
            update.step()
            loss.item()
            seconds.append(time.perf_counter() - start)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps([statistics.median(seconds), peak]), flush=True)


def measure(name, python, options):
    modes = ["eager"] + ([] if options.no_compile else ["compiled"])
    ours, theirs, memory, interpreted = [], {m: [] for m in modes}, {}, []
    with tempfile.TemporaryDirectory() as folder:
        path = training_file(folder, name)
        peers = {m: Torch(python, name, m, options.threads) for m in modes}
        for _ in range(options.pairs):
            seconds, memory["tenon"], interpreted = tenon_pair(path, options.steps, options.threads)
            ours.append(seconds)
            for m, peer in peers.items():
                seconds, memory[m] = peer.ask(options.steps)
                theirs[m].append(seconds)
        for peer in peers.values():
            peer.close()
    medians = {m: statistics.median(v) for m, v in theirs.items()}
    best = min(medians, key=medians.get)
    ratio = statistics.median(a / b for a, b in zip(ours, theirs[best], strict=True))
    return {"model": name, "tenon_seconds": statistics.median(ours), "torch_seconds": medians, "better": best,
            "time_ratio": ratio, "memory_bytes": memory, "memory_ratio": memory["tenon"] / memory["eager"],
            "interpreted": interpreted, "pairs": options.pairs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[*MODELS, []])
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    from test_torch_curves import torch_python
    python = torch_python()
    if not python:
        raise SystemExit("no Python with PyTorch: scripts/setup.sh --torch")
    results = []
    for name in options.models or MODELS:
        r = measure(name, python, options)
        results.append(r)
        peers = ", ".join(f"{m} {s * 1e3:.1f} ms" for m, s in r["torch_seconds"].items())
        print(f"{name}: tenon {r['tenon_seconds'] * 1e3:.1f} ms, {peers}; {r['time_ratio']:.2f} x the better, memory "
              f"{r['memory_ratio']:.2f} x eager{'; interpreted: ' + ', '.join(r['interpreted']) if r['interpreted'] else ''}",
              flush=True)
    means = [math.exp(statistics.fmean(math.log(r[k]) for r in results)) for k in ("time_ratio", "memory_ratio")]
    print(f"geometric means: time {means[0]:.2f}, memory {means[1]:.2f}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        serve(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()
