#!/usr/bin/env python3
"""examples/fleet.py from one bucket into another, on an S3 server of this machine (moto): what its workers do, called here one after the other.

    .venv-fleet/bin/python tests/fleet/test_bucket.py --pt2onnx build/pt2onnx         `make fleet-test` makes the environment

test_fleet.py has Ray, with folders; here is what differs with buckets: finding, fetching and storing models, and rows of results."""
import argparse
import importlib.util
import logging
import os
import pathlib
import subprocess
import sys
import tempfile

import pyarrow.fs
import pyarrow.parquet as pq
from moto.server import ThreadedMotoServer

TOP = pathlib.Path(__file__).resolve().parents[2]
FILES = TOP / "tests" / "cli" / "files"
os.environ.update(AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test", AWS_EC2_METADATA_DISABLED="true")


def example():
    spec = importlib.util.spec_from_file_location("fleet", TOP / "examples" / "fleet.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def convert_new(fleet, models, out, pt2onnx, options):
    """What a run does, without Ray: the rows of models that have none yet."""
    before = fleet.done_before(out)
    todo = [row for row in fleet.models_in(models) if fleet.key_of(row, " ".join(options)) not in before]
    work, results = fleet.Convert(models, out, str(pt2onnx), options), fleet.Results(out)
    for row in todo:
        results.add(fleet.json.loads(work(row)["row"]))
    results.write()
    return [row["model"] for row in todo], results.counts


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pt2onnx", type=pathlib.Path, default=TOP / "build" / "pt2onnx")
    pt2onnx, fleet = p.parse_args().pt2onnx.resolve(), example()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)           # a line for each request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    place = "127.0.0.1:%d" % server.get_host_and_port()[1]
    models, out = (f"s3://{bucket}?scheme=http&endpoint_override={place}&region=us-east-1&allow_bucket_creation=true" for bucket in ("saved/models", "written/onnx"))
    store, _ = pyarrow.fs.FileSystem.from_uri(models)
    whole = (FILES / "net.pt").read_bytes()
    for bucket in ("saved", "written"):
        store.create_dir(bucket)
    for name, data in {"net.pt": whole, "below/net 2.pt": whole, "damaged.pt": whole[:200], "notes.txt": b"none"}.items():
        with store.open_output_stream(f"saved/models/{name}") as file:
            file.write(data)

    done, counts = convert_new(fleet, models, out, pt2onnx, ["--opset", "17"])
    assert done == ["below/net 2.pt", "damaged.pt", "net.pt"] and counts == {"ok": 2, "unreadable": 1}, (done, counts)
    with tempfile.TemporaryDirectory() as there:
        direct = pathlib.Path(there) / "direct.onnx"
        subprocess.run([pt2onnx, "-q", FILES / "net.pt", "-o", direct, "--opset", "17"], check=True)
        for name in ("net.pt", "below/net 2.pt"):
            with store.open_input_stream(f"written/onnx/models/{name}.onnx") as file:
                assert file.read() == direct.read_bytes(), name
    stored = [f.path for f in store.get_file_info(pyarrow.fs.FileSelector("written", recursive=True)) if f.is_file]
    assert not [path for path in stored if path.endswith(".part")] and sum(path.endswith(".onnx") for path in stored) == 2, stored
    rows = [row for path in stored if path.endswith(".parquet") for row in pq.read_table(path, filesystem=store).to_pylist()]
    assert sorted((row["model"], row["status"]) for row in rows) == [("below/net 2.pt", "ok"), ("damaged.pt", "unreadable"), ("net.pt", "ok")], rows

    assert convert_new(fleet, models, out, pt2onnx, ["--opset", "17"])[0] == []
    with store.open_output_stream("saved/models/new.pt") as file:
        file.write(whole)
    assert convert_new(fleet, models, out, pt2onnx, ["--opset", "17"])[0] == ["new.pt"]
    server.stop()
    print("3 models of a bucket: each has a row, and a file in the other bucket; a second run has nothing to do")


if __name__ == "__main__":
    sys.exit(main())
