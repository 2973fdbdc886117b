"""What the engines' own tests share: finding the environment, making plans, exporting them."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TENON = os.environ.get("TENON") or str(ROOT / "build/tenon")

# Model, cluster, batch and what is held fixed: dense and sparse, with and without pipelines.
CASES = [
    ("llama3-8b", "H100-SXM:16", 128, []),
    ("llama3-8b", "H100-SXM:8", 64, ["zero_stage=3", "tensor_parallel=1", "pipeline_parallel=1"]),
    ("llama3-70b", "H100-SXM:64", 512, []),
    ("llama3-70b", "A100-80G:128", 512, ["pipeline_parallel=8", "schedule=interleaved"]),
    ("llama3-70b", "H100-SXM:64", 256, ["schedule=zb-h1", "pipeline_parallel=4"]),
    ("llama3-70b", "H100-SXM:64", 256, ["context_parallel=2"]),
    ("llama3-405b", "H100-SXM:1024", 1024, []),
    ("gpt3-175b", "A100-80G:512", 1536, ["recompute=full"]),
    ("gpt3-175b", "A100-80G:512", 1536, ["pipeline_parallel=16", "schedule=v-half"]),
    ("mixtral-8x7b", "H100-SXM:64", 512, ["expert_parallel=8"]),
    ("deepseek-v3", "H100-SXM:1024", 4096, ["pipeline_parallel=16"]),
    ("llama3-8b", "H100-SXM:16", 128, ["offload=optimizer", "zero_stage=1"]),
    ("llama3-8b", "H100-SXM:16", 128, ["precision=fp16"]),
    ("llama3-405b", "H100-SXM:1024", 1024, ["precision=fp8"]),
    ("llama3-8b", "H100-SXM:16", 128, ["optimizer=adam_8bit", "zero_stage=0"]),
    ("llama3-8b", "H100-SXM:16", 128, ["optimizer=muon", "zero_stage=2"]),
    ("llama3-8b", "H100-SXM:16", 128, ["zero_stage=3", "zero_group=8", "context_parallel=1", "tensor_parallel=1",
                                       "pipeline_parallel=1"]),
    ("llama3-8b", "H100-SXM:16", 128, ["optimizer=sgd", "gradient_compression=bf16", "context_parallel=2",
                                       "context_method=all_to_all", "pipeline_parallel=1"]),
    ("llama3-70b", "H100-SXM:64", 256, ["offload=both", "recompute=full", "pipeline_parallel=4", "schedule=1f1b"]),
    ("llama3-70b", "H100-SXM:64", 256, ["zero_stage=2", "tensor_parallel=8", "pipeline_parallel=2", "schedule=1f1b"]),
    ("llama3-70b", "H100-SXM:96", 288, ["pipeline_parallel=3", "schedule=1f1b", "recompute=full", "recompute_layers=5"]),
    ("mixtral-8x7b", "H100-SXM:64", 512, ["expert_parallel=4", "tensor_parallel=2", "sequence_parallel=true"]),
    ("gpt2-xl", "V100:8", 64, []),
]


def skip(reason):
    """The environment is missing: visible, and neither a pass nor a failure."""
    print(f"skipped: {reason}")
    sys.exit(77)


def run_in_environment():
    """Starts the calling script again with the interpreter that has the engines (TENON_ENGINES, or
    .venv-torch of scripts/setup.sh --engines) unless this is it; skips where there is none."""
    if os.environ.get("TENON_IN_ENGINES"):
        return
    python = os.environ.get("TENON_ENGINES") or str(ROOT / ".venv-torch/bin/python")
    if not os.access(python, os.X_OK):
        skip("no environment with the engines (scripts/setup.sh --engines, or TENON_ENGINES=its python)")
    environment = {**os.environ, "TENON_IN_ENGINES": "1"}
    sys.exit(subprocess.run([python, *sys.argv], env=environment).returncode)


def exports(engine, folder):
    """(name, plan, what export said, its folder) of every case; each is also read back."""
    for number, (model, cluster, batch, fixed) in enumerate(CASES):
        out = pathlib.Path(folder) / f"{engine}-{number}"
        arguments = ["plan", "--model", model, "--cluster", cluster, "--batch", str(batch), "-o", str(out)]
        for key in fixed:
            arguments += ["--fix", key]
        subprocess.run([TENON, *arguments, "--evaluations", "20000", "--quiet"], check=True, stdout=subprocess.DEVNULL)
        plan = json.loads((out / "plan.json").read_text())["plan"]
        done = subprocess.run([TENON, "plan", "export", str(out / "plan.json"), "--to", engine, "-o", str(out), "--json"],
                              check=True, capture_output=True, text=True)
        yield f"{model} on {cluster} {' '.join(fixed)}", plan, json.loads(done.stdout), out


def devices(plan):
    """Ranks of a plan."""
    product = 1
    for axis in ("data", "tensor", "pipeline", "context"):
        product *= plan[axis + "_parallel"]
    return product
