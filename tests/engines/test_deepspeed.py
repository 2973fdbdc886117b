"""Exported ds_config.json under DeepSpeed's own DeepSpeedConfig, in a fake process group of the plan's size: it is
accepted, and every batch field, the ZeRO stage, precision and pipeline are those of the plan."""
import json
import sys
import tempfile
import types

import fixtures

fixtures.run_in_environment()
try:
    import deepspeed
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from deepspeed.runtime.config import DeepSpeedConfig
except ImportError as missing:
    fixtures.skip(missing)


def configured(config, plan, written):
    """The engine's reading of a configuration, as every rank of the plan would have it."""
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=fixtures.devices(plan))
    deepspeed.comm.comm.cdb = None
    deepspeed.init_distributed(dist_backend="gloo", auto_mpi_discovery=False, verbose=False)
    # A pipeline or tensor-parallel layers bring their own grid; its data axis is what batches count.
    grid = types.SimpleNamespace(get_data_parallel_world_size=lambda: written["data_parallel"])
    whole = written["tensor_parallel"] == 1 and written["pipeline_parallel"] == 1
    try:
        return DeepSpeedConfig(config, mpu=None if whole else grid)
    finally:
        dist.destroy_process_group()


def check(name, plan, answer, folder):
    written = answer["written"]
    config = json.loads((folder / "ds_config.json").read_text())
    got = configured(config, plan, written)
    steps = written["global_batch"] // (written["data_parallel"] * written["micro_batch"])
    expected = {"world_size": written["data_parallel"], "train_batch_size": plan["global_batch"],
                "train_micro_batch_size_per_gpu": plan["micro_batch"], "gradient_accumulation_steps": steps,
                "zero_optimization_stage": written["zero_stage"]}
    wrong = [f"{key} is {getattr(got, key)}, not {value}" for key, value in expected.items() if getattr(got, key) != value]
    if got.bfloat16_config.enabled != (written["precision"] == "bf16"):
        wrong.append("bf16")
    if got.float16_config.enabled != (written["precision"] == "fp16"):
        wrong.append("fp16")
    if written["pipeline_parallel"] > 1 and got.pipeline["stages"] != written["pipeline_parallel"]:
        wrong.append(f"pipeline stages {got.pipeline['stages']}")
    print(f"{'wrong: ' + '; '.join(wrong) if wrong else 'ok'}: {name}; lost {[r['key'] for r in answer['lost']]}")
    return not wrong


def main():
    with tempfile.TemporaryDirectory() as folder:
        results = [check(*case) for case in fixtures.exports("deepspeed", folder)]
    print(f"{sum(results)} of {len(results)} accepted as planned")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
