#!/usr/bin/env python3
"""Latency of Tenon beside ONNX Runtime, OpenVINO and PyTorch: one JSON file and one page.

  benchmarks/inference.py --export models            the networks of model_zoo.py (needs torch)
  benchmarks/inference.py --models models            every .onnx there, one thread
  benchmarks/inference.py --models models --threads 1 2 --only resnet50 bert_base_128
  benchmarks/inference.py --models a.onnx --shape x=1,3,960,960

Every engine runs in turn in every round, so that a neighbour's load falls on all alike; a figure is
the median of the rounds, and a ratio the median of the rounds' own ratios. The load of the machine
is written beside each figure: above the number of cores the absolute times mean little.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import sys
import time

import engines
import model_zoo
import report

PEERS = ["onnxruntime", "openvino", "torch", "torch_compile"]


def host():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    fields = dict(
        line.split(":", 1) for line in text.split("\n\n")[0].splitlines() if ":" in line)
    fields = {k.strip(): v.strip() for k, v in fields.items()}
    wanted = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16",
              "amx_int8")
    flags = fields.get("flags", "").split()
    return {"cpu": fields.get("model name", "unknown"), "cores": os.cpu_count(),
            "features": [f for f in wanted if f in flags],
            "isa_mask": os.environ.get("TENON_ISA", "")}


def load_engine(name, path, feeds, threads, options):
    if name == "tenon":
        return engines.Tenon(path, feeds, threads, options.tenon)
    if name == "onnxruntime":
        return engines.OnnxRuntime(path, feeds, threads)
    if name == "openvino":
        return engines.OpenVino(path, feeds, threads)
    if path.stem not in model_zoo.NETWORKS:
        raise RuntimeError("torch knows this network only from model_zoo.py")
    return engines.Torch(path.stem, 1, threads, name == "torch_compile")


def measure(path, threads, options):
    feeds = engines.feeds_for(path, options.shapes)
    loaded, problems = {}, {}
    for name in options.engines:
        try:
            loaded[name] = load_engine(name, path, feeds, threads, options)
        except Exception as problem:  # an engine that is missing or fails is a row, not the end
            problems[name] = str(problem).splitlines()[0][:200] if str(problem) else repr(problem)
    rounds = {name: [] for name in loaded}
    before = os.getloadavg()[0]
    for _ in range(options.rounds):
        for name in list(loaded):
            try:
                rounds[name].append(loaded[name].seconds(options.seconds / options.rounds) * 1e3)
            except Exception as problem:
                problems[name] = str(problem)[:200]
                loaded.pop(name).close()
                rounds.pop(name)
    result = {
        "model": path.stem, "threads": threads, "rounds": options.rounds,
        "shapes": {k: list(v.shape) for k, v in feeds.items()},
        "load": [round(before, 2), round(os.getloadavg()[0], 2)],
        "latency_ms": {n: round(statistics.median(v), 4) for n, v in rounds.items()},
        "rounds_ms": {n: [round(x, 4) for x in v] for n, v in rounds.items()},
        "load_seconds": {n: round(e.load_seconds, 3) for n, e in loaded.items()},
        "versions": {n: e.version for n, e in loaded.items() if hasattr(e, "version")},
        "problems": problems,
    }
    for engine in loaded.values():
        engine.close()
    peers = {n: v for n, v in result["latency_ms"].items() if n != "tenon"}
    if "tenon" in rounds and peers:
        best = min(peers, key=peers.get)
        result["best_peer"] = best
        result["ratio"] = round(statistics.median(
            t / p for t, p in zip(rounds["tenon"], rounds[best])), 4)
    return result


def say(result):
    times = "  ".join(f"{n} {v:.2f}" for n, v in result["latency_ms"].items())
    ratio = f"ratio {result['ratio']:.3f} to {result['best_peer']}" if "ratio" in result else ""
    print(f"{result['model']:32} {result['threads']} threads  {times} ms  {ratio}  "
          f"load {result['load'][0]}", flush=True)
    for name, problem in result["problems"].items():
        print(f"    {name}: {problem}", file=sys.stderr)


def parse_shapes(given):
    shapes = {}
    for item in given:
        name, _, dims = item.rpartition("=")
        shapes[name] = [int(d) for d in dims.split(",")]
    return shapes


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--models", nargs="+", default=[], help="ONNX files, or folders of them")
    p.add_argument("--export", metavar="DIR", help="write the networks of model_zoo.py there, then stop")
    p.add_argument("--only", nargs="+", default=[], help="names without .onnx")
    p.add_argument("--threads", nargs="+", type=int, default=[1])
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--seconds", type=float, default=9.0, help="for one engine and model, all rounds")
    p.add_argument("--engines", nargs="+", default=["tenon", *PEERS], choices=["tenon", *PEERS])
    p.add_argument("--shape", action="append", default=[], help="NAME=1,3,224,224")
    p.add_argument("--tenon", help="the program, by default build/tenon")
    p.add_argument("-o", "--output", default="inference", help="writes OUTPUT.json and OUTPUT.html")
    return p.parse_args()


def find_models(options):
    paths = []
    for given in map(pathlib.Path, options.models):
        paths += sorted(given.glob("*.onnx")) if given.is_dir() else [given]
    return [p for p in paths if not options.only or p.stem in options.only]


def main():
    options = arguments()
    if options.export:
        for path in model_zoo.export(options.export, options.only or model_zoo.NETWORKS):
            print(path)
        return 0
    options.shapes = parse_shapes(options.shape)
    if "tenon" in options.engines:
        options.tenon = engines.find_program(options.tenon)
    answer = {
        "schema": "tenon.inference_benchmark/1", "host": host(),
        "date": time.strftime("%Y-%m-%d %H:%M:%S"),
        "options": {"onnxruntime": engines.OnnxRuntime.options, "openvino": engines.OpenVino.options,
                    "torch": engines.Torch.options, "torch_compile": "torch.compile, as torch",
                    "tenon": engines.Tenon.options},
        "results": [],
    }
    for threads in options.threads:
        os.environ["OMP_NUM_THREADS"] = str(threads)
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:threads]) if
                             len(os.sched_getaffinity(0)) >= threads else os.sched_getaffinity(0))
        for path in find_models(options):
            answer["results"].append(measure(path, threads, options))
            say(answer["results"][-1])
            pathlib.Path(options.output + ".json").write_text(json.dumps(answer, indent=1))
        os.sched_setaffinity(0, range(os.cpu_count()))
    answer["geomean"] = {}
    for threads in options.threads:
        ratios = [r["ratio"] for r in answer["results"] if r["threads"] == threads and "ratio" in r]
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            answer["geomean"][str(threads)] = round(mean, 4)
            print(f"geomean of ratios to the best peer, {threads} threads: {mean:.3f} "
                  f"over {len(ratios)} models, worst {max(ratios):.2f}")
    pathlib.Path(options.output + ".json").write_text(json.dumps(answer, indent=1))
    pathlib.Path(options.output + ".html").write_text(report.page(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
