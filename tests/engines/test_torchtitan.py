"""Exported arguments under torchtitan's own ConfigManager, its mesh under ParallelDims, and exported schedules under
PyTorch's pipelining runtime."""
import os
import shlex
import subprocess
import sys
import tempfile

import fixtures

fixtures.run_in_environment()
try:
    from torchtitan.config.manager import ConfigManager
    from torchtitan.components.quantization import float8
    from torchtitan.distributed.parallel_dims import ParallelDims
    from torch.distributed.pipelining.schedules import _Action, _validate_schedule, get_schedule_class
except ImportError as missing:
    fixtures.skip(missing)


def arguments_of(script):
    """What the script would run, with torchrun replaced by printing."""
    shell = 'torchrun() { printf "%s\\n" "$@"; }; source ' + shlex.quote(str(script))
    done = subprocess.run(["bash", "-c", shell], check=True, capture_output=True, text=True)
    words = done.stdout.splitlines()
    return words[words.index("torchtitan.train") + 1:]


def check_mesh(config, plan, written):
    p = config.parallelism
    dims = ParallelDims(dp_replicate=p.data_parallel_replicate_degree, dp_shard=p.data_parallel_shard_degree,
                        cp=p.context_parallel_degree, tp=p.tensor_parallel_degree, pp=p.pipeline_parallel_degree,
                        ep=p.expert_parallel_degree, world_size=fixtures.devices(plan))
    return dims.dp_replicate * dims.dp_shard == written["data_parallel"]


def check_schedule(path, written):
    """The runtime's own check: every action once, forward before backward."""
    rows = {}
    for rank, line in enumerate(open(path, encoding="utf-8")):
        rows[rank] = [_Action.from_str(cell) for cell in line.strip().split(",")]
    stages = 1 + max(a.stage_index for row in rows.values() for a in row)
    steps = written["global_batch"] // (written["data_parallel"] * written["micro_batch"])
    _validate_schedule(rows, written["pipeline_parallel"], stages, steps)


def wrong_fields(config, written):
    steps = written["global_batch"] // (written["data_parallel"] * written["micro_batch"])
    pipeline = written["pipeline_parallel"] > 1
    p = config.parallelism
    pairs = [(p.tensor_parallel_degree, written["tensor_parallel"]),
             (p.pipeline_parallel_degree, written["pipeline_parallel"]),
             (p.context_parallel_degree, written["context_parallel"]),
             (p.expert_parallel_degree, written["expert_parallel"]),
             (p.enable_sequence_parallel, written["sequence_parallel"]),
             (config.training.global_batch_size, written["global_batch"]),
             (config.training.local_batch_size, written["micro_batch"] * (steps if pipeline else 1)),
             (type(config.activation_checkpoint).__qualname__.split(".")[0],
              {"none": "NoneType", "selective": "SelectiveAC", "full": "FullAC"}[written["recompute"]])]
    if pipeline:
        get_schedule_class(p.pipeline_parallel_schedule)
        pairs.append((p.pipeline_parallel_microbatch_size, written["micro_batch"]))
        pairs.append((len(p.module_fqns_per_model_part) % written["pipeline_parallel"], 0))
    return [f"{got} is not {want}" for got, want in pairs if got != want]


def check(name, plan, answer, folder):
    written = answer["written"]
    config = ConfigManager().parse_args(arguments_of(folder / "torchtitan.sh"))
    wrong = wrong_fields(config, written)
    if not check_mesh(config, plan, written):
        wrong.append("the mesh")
    for file in answer["files"]:
        if file.endswith(".csv"):
            check_schedule(file, written)
    print(f"{'wrong: ' + '; '.join(wrong) if wrong else 'ok'}: {name}; lost {[r['key'] for r in answer['lost']]}")
    return not wrong


def main():
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    float8.has_cuda_capability = lambda *_: True  # the configuration is judged, not this machine
    with tempfile.TemporaryDirectory() as folder:
        results = [check(*case) for case in fixtures.exports("torchtitan", folder)]
    print(f"{sum(results)} of {len(results)} accepted as planned")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
