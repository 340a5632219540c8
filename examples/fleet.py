#!/usr/bin/env python3
"""Thousands of saved programs to ONNX, over a cluster with Ray Data.

    pip install 'ray[data]'
    python examples/fleet.py MODELS OUT                         a folder of .pt, .pt2 and .ptl files into OUT, on this machine
    python examples/fleet.py s3://bucket/models s3://bucket/onnx --address auto -- --opset 18 --weights-type float16

MODELS and OUT are folders that all machines see, or buckets that pyarrow.fs knows (s3://, gs://). What follows -- are options of pt2onnx, the
same for all. OUT/models has the ONNX files under the names of their models, OUT/results a row of Parquet for each model:

    model, size, modified      the file, and which state of it
    status, exit, seconds      ok, cannot_convert, unreadable, ..: what `pt2onnx --json` says
    output, bytes, nodes, opset, notes, error, host

A model that cannot be converted is a row like any other. A run that was stopped goes on: models that have a row are left out, unless they or
the options have changed. A worker that dies is replaced by Ray, and its model is converted again: a model is written under another name and
moved when it is whole, and its row is written by this process alone, so there is one."""
import argparse
import collections
import datetime
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"         # before ray is imported: nothing is reported to anybody
import pyarrow as pa                                # noqa: E402
import pyarrow.fs                                   # noqa: E402
import pyarrow.parquet as pq                        # noqa: E402

SUFFIXES = (".pt", ".pt2", ".ptl")
NOTE = pa.struct([("kind", pa.string()), ("text", pa.string())])
SCHEMA = pa.schema([("model", pa.string()), ("size", pa.int64()), ("modified", pa.int64()), ("options", pa.string()), ("status", pa.string()),
                    ("exit", pa.int32()), ("seconds", pa.float64()), ("output", pa.string()), ("bytes", pa.int64()), ("nodes", pa.int64()),
                    ("opset", pa.int32()), ("notes", pa.list_(NOTE)), ("error", pa.string()), ("host", pa.string())])
ROWS, SECONDS = 500, 10                             # a file of results has so many rows, or those of so many seconds


def place(address):
    """(file system, path) of a folder or bucket."""
    if "://" in address:
        return pyarrow.fs.FileSystem.from_uri(address)
    return pyarrow.fs.LocalFileSystem(), os.path.abspath(address)


def models_in(address):
    """[{model, size, modified}]: the name is the path below the folder."""
    system, folder = place(address)
    found = system.get_file_info(pyarrow.fs.FileSelector(folder, recursive=True))
    return [{"model": f.path[len(folder):].lstrip("/"), "size": f.size, "modified": f.mtime_ns or 0}
            for f in sorted(found, key=lambda f: f.path) if f.is_file and f.path.endswith(SUFFIXES)]


def key_of(row, options):
    return row["model"], row["size"], row["modified"], options


def done_before(out):
    """The keys of all rows of earlier runs."""
    system, folder = place(out)
    info = system.get_file_info(pyarrow.fs.FileSelector(f"{folder}/results", allow_not_found=True))
    keys = set()
    for f in info:
        if f.path.endswith(".parquet"):
            rows = pq.read_table(f.path, filesystem=system, columns=["model", "size", "modified", "options"]).to_pylist()
            keys |= {key_of(row, row["options"]) for row in rows}
    return keys


# ---- in a worker ----

def fetch(system, path, there):
    """The model as a file of this machine; a folder's own file is read where it lies."""
    if isinstance(system, pyarrow.fs.LocalFileSystem):
        return path
    local = os.path.join(there, "model" + os.path.splitext(path)[1])
    with system.open_input_stream(path) as source, open(local, "wb") as target:
        shutil.copyfileobj(source, target, 1 << 22)
    return local


def deliver(system, local, path):
    """Whole or not at all: under another name first, then moved. A bucket has no half-written objects."""
    system.create_dir(os.path.dirname(path), recursive=True)
    part = f"{path}.{uuid.uuid4().hex}.part"
    with open(local, "rb") as source, system.open_output_stream(part) as target:
        shutil.copyfileobj(source, target, 1 << 22)
    system.move(part, path)


class Convert:
    """One model a call; an error of the model is a row, an error of the machine (no disk, no program) ends the run."""

    def __init__(self, source, out, program, options):
        self.source, self.out, self.program, self.options = source, out, program, options

    def __call__(self, row):
        source, folder = place(self.source)
        target, out = place(self.out)
        name = row["model"] + ".onnx"               # net.pt and net.pt2 are two
        with tempfile.TemporaryDirectory(prefix="fleet-") as there:
            local = os.path.join(there, os.path.basename(name))
            model = fetch(source, f"{folder}/{row['model']}", there)
            done = subprocess.run([self.program, "--json", model, "-o", local, *self.options], stdin=subprocess.DEVNULL, capture_output=True, text=True)
            said = self.said(done)
            if said["status"] == "ok":
                for suffix in (".data", ""):        # the model last: whoever finds it finds its weights
                    if os.path.exists(local + suffix):
                        deliver(target, local + suffix, f"{out}/models/{name}{suffix}")
        known = {field: said.get(field) for field in ("status", "exit", "seconds", "bytes", "nodes", "opset", "notes", "error")}
        result = {**row, **known, "options": " ".join(self.options), "output": f"models/{name}" if said["status"] == "ok" else None,
                  "host": socket.gethostname()}
        return {"row": json.dumps(result)}          # text: blocks of Ray want one type in a column, and notes may be none

    @staticmethod
    def said(done):
        """The line of JSON; a program that dies without one has crashed."""
        try:
            return json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            return {"status": "crashed", "exit": done.returncode, "seconds": None, "notes": [], "error": done.stderr[-2000:]}


# ---- here ----

class Results:
    """Rows as files of Parquet, each whole or not there."""

    def __init__(self, out):
        self.system, folder = place(out)
        self.folder, self.rows, self.since = f"{folder}/results", [], time.monotonic()
        self.system.create_dir(self.folder, recursive=True)
        self.counts = collections.Counter()

    def add(self, row):
        self.rows.append(row)
        self.counts[row["status"]] += 1
        if len(self.rows) >= ROWS or time.monotonic() - self.since > SECONDS:
            self.write()

    def write(self):
        if self.rows:
            name = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%S") + "-" + uuid.uuid4().hex[:8]
            path = f"{self.folder}/{name}.parquet"
            pq.write_table(pa.Table.from_pylist(self.rows, SCHEMA), path + ".part", filesystem=self.system)
            self.system.move(path + ".part", path)
        self.rows, self.since = [], time.monotonic()


def convert_all(a, todo):
    import logging
    import ray
    import ray.data
    local = {} if a.address else {"num_cpus": a.workers, "include_dashboard": False}
    ray.init(address=a.address, log_to_driver=False, logging_level="ERROR", **local)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.op_resource_reservation_enabled = False         # all processors convert: there is one step
    context.execution_options.preserve_order = False
    work = Convert(a.models, a.out, os.path.abspath(a.pt2onnx) if os.path.dirname(a.pt2onnx) else a.pt2onnx, a.options)
    # A block is what a dead worker does again: small ones, but not so many that Ray is busy with them.
    blocks = max(1, min(len(todo), max(4 * a.workers, len(todo) // 64)))
    rows = ray.data.from_items(todo, override_num_blocks=blocks).map(work.__call__, num_cpus=1)
    results, began = Results(a.out), time.monotonic()
    try:
        for n, row in enumerate(rows.iter_rows(), 1):
            results.add(json.loads(row["row"]))
            if n % 100 == 0:
                print(f"{n} of {len(todo)}, {n / (time.monotonic() - began):.1f} a second", file=sys.stderr, flush=True)
    finally:
        results.write()                             # Ctrl-C too: what has come is kept
        ray.shutdown()
    return results.counts


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog="What follows -- are options of pt2onnx.")
    p.add_argument("models")
    p.add_argument("out")
    p.add_argument("--pt2onnx", default="pt2onnx", help="the program, where all machines have it")
    p.add_argument("--address", help="of a Ray cluster; auto: the one that runs here. None: this machine alone")
    p.add_argument("--workers", type=int, default=os.cpu_count() or 2, help="of this machine, without --address")
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    a = p.parse_args(words[:end])
    a.options = words[end + 1:]
    before, options = done_before(a.out), " ".join(a.options)
    every = models_in(a.models)
    todo = [row for row in every if key_of(row, options) not in before]
    print(f"{len(every)} models, {len(every) - len(todo)} of them done before", flush=True)
    counts = convert_all(a, todo) if todo else {}
    print(", ".join(f"{n} {status}" for status, n in sorted(counts.items())) or "nothing to do")
    return 1 if set(counts) - {"ok"} else 0


if __name__ == "__main__":
    sys.exit(main())
