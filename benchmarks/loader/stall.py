#!/usr/bin/env python3
"""How long training waits for pictures: tenon's loader beside PyTorch's DataLoader, same JPEG files, same pixels.

    stall.py --pictures DIR --tenon build/tenon -o stall.json     (with the Python that has torch and torchvision)

One thread computes. Tenon loads with one worker; PyTorch with 0, 1 and 2, and its best counts. Stall of a run is
its time minus the time of as many steps on one cached batch. Both sides cut, flip and normalise the very same
stretches: the crops are drawn here by Tenon's rule, beforehand, and the first pictures are compared.
"""
import argparse
import ctypes
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

import numpy as np
import torch
import torchvision.transforms.functional as functional
from PIL import Image

MASK = (1 << 64) - 1
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
SIDE, SEED = 224, 7
libm = ctypes.CDLL("libm.so.6")
for name in ("expf", "logf"):
    getattr(libm, name).restype = ctypes.c_float
    getattr(libm, name).argtypes = [ctypes.c_float]


def scramble(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def mix_key(a, b, c=0):
    z = scramble((a + 0x9E3779B97F4A7C15) & MASK)
    z = scramble(z ^ (b + 0x632BE59BD9B4E019) & MASK)
    return scramble(z ^ (c + 0xD1342543DE82EF95) & MASK)


class Draws:
    """Philox4x32-10 by (seed, stream), as tenon/base/random.h gives it."""

    def __init__(self, seed, stream):
        self.key, self.stream, self.index = seed, stream, 0

    def next(self):
        number, at = divmod(self.index, 4)
        self.index += 1
        c = [number & 0xFFFFFFFF, number >> 32, self.stream & 0xFFFFFFFF, self.stream >> 32]
        k = [self.key & 0xFFFFFFFF, self.key >> 32]
        for _ in range(10):
            p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [p1 >> 32 ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, p0 >> 32 ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        return c[at]

    def uniform(self, low=0.0, high=1.0):
        u = np.float32(self.next() >> 8) * np.float32(2.0 ** -24)
        return float(np.float32(low) + (np.float32(high) - np.float32(low)) * u)

    def below(self, n):
        return self.next() * n >> 32


def half_up(x):
    return math.floor(x + 0.5)


def crop_of(width, height, index, epoch):
    """((left, top, width, height), flipped) of random_resized_crop and random_flip at one sample of one epoch."""
    draws = Draws(mix_key(SEED, epoch), index)
    box = None
    for _ in range(10):
        area = float(width * height) * draws.uniform(np.float32(0.08), 1.0)
        ratio = libm.expf(draws.uniform(libm.logf(0.75), libm.logf(4.0 / 3)))
        w, h = half_up(math.sqrt(area * ratio)), half_up(math.sqrt(area / ratio))
        if 1 <= w <= width and 1 <= h <= height:
            left = draws.below(width - w + 1)
            box = (left, draws.below(height - h + 1), w, h)
            break
    if box is None:
        raise SystemExit("a picture for which ten tries fail; choose others")
    return box, draws.uniform() < 0.5


def make_pictures(sources, folder, count):
    """JPEG files of the size of common photo sets (500 x 375), cut from large real pictures."""
    draws = random.Random(1)
    pictures = [Image.open(path).convert("RGB") for path in sources]
    files = []
    for i in range(count):
        picture = pictures[i % len(pictures)]
        w = draws.randint(min(picture.width, 500), picture.width)
        h = min(picture.height, w * 3 // 4)
        left, top = draws.randint(0, picture.width - w), draws.randint(0, picture.height - h)
        part = picture.crop((left, top, left + w, top + h)).resize((500, 375), Image.LANCZOS)
        path = folder / f"class{i % 2}" / f"{i:05}.jpg"
        path.parent.mkdir(exist_ok=True, parents=True)
        part.save(path, quality=90)
    return sorted(folder.rglob("*.jpg"))


class Pictures(torch.utils.data.Dataset):
    def __init__(self, files, crops):
        self.files, self.crops = files, crops

    def __len__(self):
        return len(self.crops)

    def __getitem__(self, i):
        (left, top, w, h), flipped = self.crops[i]
        with Image.open(self.files[i % len(self.files)]) as picture:
            part = picture.convert("RGB").crop((left, top, left + w, top + h))
        # Rows first in every version of Pillow: newer ones choose by size, and rounding differs by one level.
        part = part.resize((SIDE, h), Image.BILINEAR).resize((SIDE, SIDE), Image.BILINEAR)
        if flipped:
            part = part.transpose(Image.FLIP_LEFT_RIGHT)
        return functional.normalize(functional.to_tensor(part), MEAN, STD), int(self.files[i % len(self.files)].parent.name[-1])


class StepWork:
    """Matrix products on one thread that take `seconds` on a free core; counted, not timed."""

    def __init__(self, seconds):
        self.a = torch.rand(256, 256) / 256
        best = min(self.spin(40) for _ in range(5)) / 40
        self.rounds = max(1, round(seconds / best))

    def spin(self, rounds):
        start = time.perf_counter()
        x = self.a
        for _ in range(rounds):
            x = torch.mm(x, self.a)
        return time.perf_counter() - start

    def run(self, pictures):
        pictures.view(-1)[::16].sum().item()  # a step reads its batch
        self.spin(self.rounds)


def time_torch(dataset, batch, workers, work, seconds, warm=4):
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(1)).tolist()
    loader = torch.utils.data.DataLoader(dataset, batch_size=batch, sampler=order, num_workers=workers, drop_last=True,
                                         prefetch_factor=3 if workers else None)
    steps, start, last, next_cpu, i = 0, 0.0, None, 0.0, -1
    batches = iter(loader)
    while True:
        before = time.thread_time()
        pictures = next(batches, (None,))[0]
        i += 1
        if pictures is None:
            raise SystemExit("the pictures do not last; give more --epochs")
        if i >= warm:
            next_cpu += time.thread_time() - before
        work.run(pictures)
        last = pictures
        if i + 1 == warm:
            start = time.perf_counter()
        elif i >= warm:
            steps += 1
            if time.perf_counter() - start > seconds:
                break
    real = time.perf_counter() - start
    del batches, loader
    last = last.clone()
    start = time.perf_counter()
    for _ in range(steps):
        work.run(last)
    return {"steps": steps, "real": real, "replay": time.perf_counter() - start, "next_cpu": next_cpu}


def tenon_json(tenon, *arguments):
    done = subprocess.run([tenon, *map(str, arguments), "--json", "--seed", str(SEED)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def compare(tenon, toml, dataset, folder, count=16):
    """The largest difference of the first pictures; 1e-6 is the rounding of (p / 255 - mean) / std."""
    shown = tenon_json(tenon, "data", "show", toml, "--count", count, "--output-dir", folder)["samples"]
    files = [s["file"] for s in shown if s["field"] == "image"]
    return max(float(np.abs(np.load(f) - dataset[i][0].numpy()).max()) for i, f in enumerate(files))


def per_step(run):
    return (run["real"] - run["replay"]) / run["steps"]


def of_best_rounds(runs):
    """From the fastest run and the fastest replay: what is left of the stall when the machine is shared."""
    return min(r["real"] / r["steps"] for r in runs) - min(r["replay"] / r["steps"] for r in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", default="build/tenon")
    parser.add_argument("--pictures", required=True, help="a folder with large JPEG files, at any depth")
    parser.add_argument("--count", type=int, default=512)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=8, help="crops drawn for PyTorch")
    parser.add_argument("--step-seconds", type=float, nargs="+", default=[0.25, 0.5])
    parser.add_argument("-o", "--output", default="stall.json")
    o = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = make_pictures(sorted(pathlib.Path(o.pictures).rglob("*.jpg")), folder / "pictures", o.count)
        sizes = [Image.open(f).size for f in files]
        crops = [crop_of(*sizes[i % len(files)], i % len(files), i // len(files)) for i in range(o.epochs * len(files))]
        dataset = Pictures(files, crops)
        toml = folder / "train.toml"
        toml.write_text(f"""[data]
kind = "image_folder"
path = "pictures"
workers = 1
transform = [{{kind = "random_resized_crop", size = {SIDE}, interpolation = "area"}}, {{kind = "random_flip"}},
             {{kind = "normalize", mean = {MEAN}, std = {STD}}}]
[train]
batch = {o.batch}
""")
        result = {"cpu": next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), ""),
                  "cores": len(os.sched_getaffinity(0)), "torch": torch.__version__, "files": len(files),
                  "file_bytes": sum(f.stat().st_size for f in files), "batch": o.batch,
                  "largest_difference": compare(o.tenon, toml, dataset, folder / "shown"), "runs": []}
        for step in o.step_seconds:
            work = StepWork(step)
            rows = {"tenon": [], **{f"torch_{w}": [] for w in (0, 1, 2)}}
            load = [os.getloadavg()[0]]
            for _ in range(o.rounds):  # in turn, so that the load of the machine meets all alike
                answer = tenon_json(o.tenon, "data", "bench", toml, "--seconds", o.seconds, "--step-seconds", step)
                rows["tenon"].append({"steps": answer["steps"], "real": answer["seconds"], "replay": answer["replay_seconds"],
                                      "next_cpu": answer["next_cpu_seconds"]})
                for workers in (0, 1, 2):
                    rows[f"torch_{workers}"].append(time_torch(dataset, o.batch, workers, work, o.seconds))
                load.append(os.getloadavg()[0])
            stall = {k: statistics.median(map(per_step, v)) for k, v in rows.items()}
            fastest = {k: of_best_rounds(v) for k, v in rows.items()}
            run = {"step_seconds": step, "load": load, "stall_seconds_per_step": stall, "stall_of_best_rounds": fastest}
            for key, of in (("ratio", stall), ("ratio_of_best_rounds", fastest)):
                run[key] = of["tenon"] / min(v for k, v in of.items() if k != "tenon")
                print(f"step {step} s, {key} {run[key]:.3f}: " + ", ".join(f"{k} {v * 1e3:.2f} ms" for k, v in of.items()))
            run["next_cpu_seconds_per_step"] = {k: min(r["next_cpu"] / r["steps"] for r in v) for k, v in rows.items()}
            result["runs"].append({**run, "rounds": rows})
        alone = tenon_json(o.tenon, "data", "bench", toml, "--seconds", o.seconds)
        result["tenon_samples_per_second"] = alone["samples_per_second"]
        start = time.process_time()
        for i in range(len(files)):
            dataset[i]
        result["torch_cpu_seconds_per_sample"] = (time.process_time() - start) / len(files)
        before, seconds = os.times().children_user + os.times().children_system, []
        for _ in range(2):  # the second run is longer by as much as it does more
            answer = tenon_json(o.tenon, "data", "bench", toml, "--seconds", o.seconds * (1 + 3 * len(seconds)), "--set", "data.workers=0")
            after = os.times().children_user + os.times().children_system
            seconds.append((after - before, answer["samples"]))
            before = after
        result["tenon_cpu_seconds_per_sample"] = (seconds[1][0] - seconds[0][0]) / (seconds[1][1] - seconds[0][1])
    pathlib.Path(o.output).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
