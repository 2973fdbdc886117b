#!/usr/bin/env python3
"""Exported plans under Megatron-LM's own argument parser and its validation.

    scripts/check_megatron.py CHECKOUT [SCRIPT...]

CHECKOUT is a folder with Megatron-LM, outside this repository; the interpreter has PyTorch and the packages Megatron-LM
imports. Without scripts, the plans of tests/engines/fixtures.py are made, exported and checked. What validation changes
against the plan is an error. Needs no device: calls that would ask one are answered for a Hopper GPU."""
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import typing
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/engines"))
import fixtures


def command_of(script):
    """(environment, arguments) of what the script would run."""
    shell = 'torchrun() { printf "%s\\n" "$@"; printf "%s\\n" "CUDA_DEVICE_MAX_CONNECTIONS=${CUDA_DEVICE_MAX_CONNECTIONS:-}"; }; '
    done = subprocess.run(["bash", "-c", shell + "source " + shlex.quote(str(script))], check=True, capture_output=True, text=True,
                          env={k: v for k, v in os.environ.items() if k != "CUDA_DEVICE_MAX_CONNECTIONS"})
    words = done.stdout.splitlines()
    connections = words.pop().split("=")[1]
    cut = next(i for i, word in enumerate(words) if word.endswith(".py"))
    return connections, words[:cut], words[cut + 1:]


def load(checkout):
    """Megatron-LM's parser, without asking for a device."""
    if not hasattr(typing, "override"):  # Python 3.11
        typing.override = lambda function: function
    warnings.filterwarnings("ignore")
    sys.path.insert(0, str(checkout))
    import torch
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    torch.cuda.get_device_properties = lambda *_: type("Device", (), {"major": 9, "minor": 0})()
    torch.cuda.current_device = lambda: 0
    from megatron.training import arguments
    arguments.get_device_arch_version = lambda: 9
    return arguments


def parsed(arguments, script, devices):
    connections, launcher, words = command_of(script)
    os.environ.pop("CUDA_DEVICE_MAX_CONNECTIONS", None)
    if connections:
        os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = connections
    if devices is None:
        count = {word: int(launcher[i + 1]) for i, word in enumerate(launcher) if word in ("--nproc_per_node", "--nnodes")}
        devices = count.get("--nproc_per_node", 1) * count.get("--nnodes", 1)
    os.environ.update(WORLD_SIZE=str(devices), RANK="0", LOCAL_RANK="0", NVTE_CPU_OFFLOAD_V1="1")
    sys.argv = ["pretrain_gpt.py", *words]
    with open(os.devnull, "w", encoding="utf-8") as quiet:
        stdout, sys.stdout = sys.stdout, quiet
        try:
            args = arguments.parse_args()
            arguments.validate_args(args, {})
        finally:
            sys.stdout = stdout
    return args


def wrong_fields(args, written):
    pairs = {"tensor_model_parallel_size": "tensor_parallel", "pipeline_model_parallel_size": "pipeline_parallel",
             "context_parallel_size": "context_parallel", "expert_model_parallel_size": "expert_parallel",
             "data_parallel_size": "data_parallel", "micro_batch_size": "micro_batch", "global_batch_size": "global_batch",
             "sequence_parallel": "sequence_parallel"}
    wrong = [f"{field} is {getattr(args, field)}, not {written[key]}" for field, key in pairs.items()
             if getattr(args, field) != written[key]]
    if (args.virtual_pipeline_model_parallel_size or 1) != written["virtual_stages"]:
        wrong.append(f"{args.virtual_pipeline_model_parallel_size} chunks")
    if (args.recompute_granularity or "none") != written["recompute"]:
        wrong.append(f"recomputes {args.recompute_granularity}")
    stage = 0
    if args.use_megatron_fsdp:
        stage = {"optim": 1, "optim_grads": 2, "optim_grads_params": 3}[args.data_parallel_sharding_strategy]
    elif args.use_distributed_optimizer or args.use_layer_wise_distributed_optimizer:  # the latter for Muon
        stage = 1
    if stage != written["zero_stage"]:
        wrong.append(f"zero_stage {stage}, not {written['zero_stage']}")
    return wrong


def main():
    if len(sys.argv) < 2 or not os.path.isdir(sys.argv[1] + "/megatron/training"):
        print(__doc__)
        return 2
    scripts = sys.argv[2:]
    arguments = load(pathlib.Path(sys.argv[1]).resolve())
    results = []
    if scripts:
        for script in scripts:
            parsed(arguments, script, None)
            print(f"ok: {script}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for name, plan, answer, out in fixtures.exports("megatron", folder):
            try:
                wrong = wrong_fields(parsed(arguments, out / "megatron.sh", fixtures.devices(plan)), answer["written"])
            except (AssertionError, ValueError, SystemExit) as refusal:
                wrong = [f"refused: {refusal}"]
            results.append(not wrong)
            print(f"{'wrong: ' + '; '.join(wrong) if wrong else 'ok'}: {name}; lost {[r['key'] for r in answer['lost']]}")
    print(f"{sum(results)} of {len(results)} accepted as planned")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
