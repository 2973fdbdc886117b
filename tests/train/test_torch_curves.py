"""Twenty losses of six models equal PyTorch's from the same weights, to 1e-4 relative in fp32.

Nets with batch norms amplify rounding from step to step. Where PyTorch's own curve is further than that from the
one it has in double, its distance is the measure.

Runs itself under a Python that has PyTorch: $TENON_TORCH_PYTHON, or .venv-torch (scripts/setup.sh --torch)."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS, BATCH, TOLERANCE = 20, 16, 1e-4
SGD = {"kind": "sgd", "learning_rate": 0.0001, "momentum": 0.9, "weight_decay": 1e-4}
ADAMW = {"kind": "adamw", "learning_rate": 1e-3, "weight_decay": 0.01}
ADAM = {"kind": "adam", "learning_rate": 1e-3}

# name -> ([model], [optimizer], fields: name -> (dims, below))
CASES = {
    "resnet18": ({"kind": "resnet", "depth": 18, "classes": 10}, SGD, {"image": ([3, 32, 32], 0), "label": ([], 10)}),
    "resnet50": ({"kind": "resnet", "depth": 50, "classes": 10}, SGD, {"image": ([3, 32, 32], 0), "label": ([], 10)}),
    "bert": ({"kind": "bert", "layers": 2, "hidden": 64, "heads": 4, "vocab": 500, "sequence": 32, "dropout": 0.0,
              "classes": 3}, ADAMW, {"tokens": ([24], 500), "label": ([], 3)}),
    "gpt": ({"kind": "gpt", "layers": 2, "hidden": 64, "heads": 4, "vocab": 500, "sequence": 32}, ADAMW,
            {"tokens": ([24], 500), "targets": ([24], 500)}),
    "lstm": ({"kind": "lstm_tagger", "vocab": 200, "embedding": 16, "hidden": 24, "classes": 9}, ADAM,
             {"tokens": ([10], 200), "targets": ([10], 9)}),
    "wide_and_deep": ({"kind": "wide_and_deep", "buckets": 50, "embedding": 8, "hidden": [32, 16]}, ADAM,
                      {"numeric": ([6], 0), "categories": ([4], 50), "label": ([], -1)}),
}


def torch_python():
    """A Python with PyTorch, or None."""
    for python in (os.environ.get("TENON_TORCH_PYTHON"), ROOT / ".venv-torch/bin/python"):
        if python and pathlib.Path(python).exists():
            return str(python)
    return None


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {toml(v)}" for k, v in value.items()) + " }"
    return json.dumps(value)


def draw(fields, seed):
    import numpy
    random = numpy.random.default_rng(seed)
    arrays = {}
    for name, (dims, below) in fields.items():
        shape = [STEPS * BATCH, *dims]
        if below > 0:
            arrays[name] = random.integers(0, below, shape)
        else:
            arrays[name] = random.normal(size=shape).astype("f4")
            if below < 0:
                arrays[name] = (arrays[name] > 0).astype("f4")
    return arrays


def tenon_losses(folder, model, optimizer, arrays):
    import numpy
    for name, array in arrays.items():
        numpy.save(folder / f"{name}.npy", array)
    files = [f"{name}.npy" for name in arrays]
    (folder / "train.toml").write_text(
        f"seed = 3\nmodel = {toml(model)}\noptimizer = {toml(optimizer)}\n"
        f"train = {toml({'steps': STEPS, 'batch': BATCH})}\ncheckpoint = {toml({'every': 1000})}\n"
        f"data = {toml({'kind': 'arrays', 'path': str(folder), 'files': files, 'shuffle': False})}\n")
    subprocess.run([os.environ.get("TENON", ROOT / "build/tenon"), "train", folder / "train.toml", "--run",
                    folder / "run", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    lines = (folder / "run/metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines]


def torch_losses(folder, model, optimizer, arrays, dtype):
    import torch
    import torch_twins
    section = {**model, "columns": 4, "numbers": 6}
    twin = torch_twins.make(section)
    torch_twins.load(twin, torch_twins.read_weights(folder / "run/checkpoints/0"))
    twin.train().to(dtype)
    options = {k: v for k, v in optimizer.items() if k not in ("kind", "learning_rate")}
    step = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[optimizer["kind"]](
        twin.parameters(), lr=optimizer["learning_rate"], **options)
    losses = []
    for i in range(STEPS):
        batch = {k: torch.from_numpy(v[i * BATCH:(i + 1) * BATCH]) for k, v in arrays.items()}
        batch = {k: v.to(dtype) if v.is_floating_point() else v for k, v in batch.items()}
        loss = torch_twins.loss_of(twin, batch)
        step.zero_grad()
        loss.backward()
        step.step()
        losses.append(loss.item())
    return losses


def distances(ours, theirs):
    return [abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True)]


def compare(names):
    import torch
    good = True
    for name in names:
        model, optimizer, fields = CASES[name]
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            arrays = draw(fields, 11)
            ours = tenon_losses(folder, model, optimizer, arrays)
            theirs = torch_losses(folder, model, optimizer, arrays, torch.float32)
            apart = distances(ours, theirs)
            noise = [0.0]
            if max(apart) > TOLERANCE:
                exact = torch_losses(folder, model, optimizer, arrays, torch.float64)
                noise, apart = distances(theirs, exact), distances(ours, exact)
        if "--verbose" in sys.argv:
            print(" ".join(f"{d:.1e}" for d in apart), "|", " ".join(f"{d:.1e}" for d in noise))
        good = good and max(apart) <= max(TOLERANCE, 2 * max(noise))
        print(f"{name}: {theirs[0]:.5f} to {theirs[-1]:.5f}, worst relative difference {max(apart):.2e}"
              + (f", PyTorch's own from double {max(noise):.2e}" if max(noise) else ""), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    if "--inside" in sys.argv:
        sys.path.insert(0, str(pathlib.Path(__file__).parent))
        sys.exit(compare([a for a in sys.argv[1:] if a in CASES] or list(CASES)))
    python = torch_python()
    if not python:
        print("skipped: no Python with PyTorch (scripts/setup.sh --torch)")
        sys.exit(77)
    sys.exit(subprocess.run([python, __file__, *sys.argv[1:], "--inside"]).returncode)
