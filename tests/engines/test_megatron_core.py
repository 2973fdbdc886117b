"""Exported arguments as fields of Megatron-Core's TransformerConfig, which checks how they go together."""
import dataclasses
import re
import shlex
import subprocess
import sys
import tempfile
import warnings

import fixtures

fixtures.run_in_environment()
warnings.filterwarnings("ignore")
try:
    import torch
    from megatron.core.transformer.transformer_config import MLATransformerConfig, TransformerConfig
except ImportError as missing:
    fixtures.skip(missing)

# Arguments whose field has another name or another form.
RENAMED = {"num-experts": "num_moe_experts", "swiglu": "gated_linear_unit", "disable-bias-linear": "add_bias_linear",
           "num-virtual-stages-per-pipeline-rank": "virtual_pipeline_model_parallel_size"}


def arguments_of(script):
    shell = 'torchrun() { printf "%s\\n" "$@"; }; source ' + shlex.quote(str(script))
    done = subprocess.run(["bash", "-c", shell], check=True, capture_output=True, text=True)
    words = done.stdout.splitlines()
    return words[words.index("pretrain_gpt.py") + 1:]


def fields_of(words, config):
    """Fields of `config` that the arguments name, with their types."""
    known = {f.name: f for f in dataclasses.fields(config)}
    fields, at = {}, 0
    while at < len(words):
        option = words[at][2:]
        values = []
        at += 1
        while at < len(words) and not words[at].startswith("--"):
            values.append(words[at])
            at += 1
        name = RENAMED.get(option, option.replace("-", "_"))
        if name not in known:
            continue
        if option == "disable-bias-linear":
            fields[name] = False
        elif not values:
            fields[name] = True
        elif name in ("recompute_modules", "offload_modules"):
            fields[name] = values
        elif option == "moe-layer-freq":
            fields[name] = eval(values[0], {"__builtins__": {}})  # a list written as Megatron-LM reads it
        else:
            text = values[0]
            fields[name] = int(text) if re.fullmatch(r"-?\d+", text) else float(text) if re.fullmatch(r"-?\d+\.\d*", text) else text
    return fields


def check(name, plan, answer, folder):
    words = arguments_of(folder / "megatron.sh")
    config = MLATransformerConfig if "--multi-latent-attention" in words else TransformerConfig
    fields = fields_of(words, config)
    fields["params_dtype"] = fields["pipeline_dtype"] = torch.bfloat16
    fields.setdefault("moe_grouped_gemm", False)
    made = config(**fields)
    written = answer["written"]
    wrong = [f"{field} is {getattr(made, field)}, not {written[key]}" for field, key in
             (("tensor_model_parallel_size", "tensor_parallel"), ("pipeline_model_parallel_size", "pipeline_parallel"),
              ("context_parallel_size", "context_parallel"), ("expert_model_parallel_size", "expert_parallel"),
              ("sequence_parallel", "sequence_parallel")) if getattr(made, field) != written[key]]
    chunks = made.virtual_pipeline_model_parallel_size or 1
    if chunks != written["virtual_stages"]:
        wrong.append(f"{chunks} chunks, not {written['virtual_stages']}")
    if (made.recompute_granularity or "none") != written["recompute"]:
        wrong.append(f"recomputes {made.recompute_granularity}")
    print(f"{'wrong: ' + '; '.join(wrong) if wrong else 'ok'}: {name}; lost {[r['key'] for r in answer['lost']]}")
    return not wrong


def main():
    with tempfile.TemporaryDirectory() as folder:
        results = [check(*case) for case in fixtures.exports("megatron", folder)]
    print(f"{sum(results)} of {len(results)} accepted as planned")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
