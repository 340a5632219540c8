#!/usr/bin/env python3
"""PyTorch's OpInfo samples through pt2onnx and ONNX Runtime, against torch; resumable.

    tools/opinfo.py --pt2onnx build/pt2onnx [--only PATTERN] [--dtypes float32,int64,bool] [--forms pt,pt2,dynamic] [--samples 4|all]
                    [--opset N] [--peers] [--verbose] [--keep DIR]

Each sample is saved as a program (opinfo_record.py), converted, run and compared (opinfo_judge.py, opinfo_tolerance.py). A verdict is

    right      same dtypes, shapes and numbers, within the tolerance of the dtype
    wrong      anything else that was converted, a crash, a conversion that ends in another way than a refusal
    refused    pt2onnx says why it cannot
    assumed    converted with an assumption, which pt2onnx said and the sample does not keep: a size that --dynamic took not to be 1
    nokernel   ONNX Runtime has no kernel for the types of a node that we wrote
    ort-fault  a known mistake of ONNX Runtime itself (opinfo_tolerance.py lists them)
    unchecked  random or uninitialised results: only dtype and shape were compared
    unsavable  torch cannot save the sample in this form, or not run it

Recordings and verdicts are kept in the cache: a stopped run goes on; a new program converts all samples anew, and runs the models
that changed. --peers puts torch's own two exporters beside. Exit code 1 if anything of ours is wrong.
"""
import argparse
import collections
import fnmatch
import hashlib
import json
import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.abspath(os.environ.get("PT2ONNX_CACHE", os.path.join(os.path.dirname(HERE), ".cache")))
VERDICTS = ("right", "wrong", "refused", "assumed", "nokernel", "ort-fault", "unchecked", "unsavable")
PEERS = ("torchscript", "dynamo")
# A form is what was recorded, and how pt2onnx is told to convert it.
FORMS = {"pt": ("pt", []), "pt2": ("pt2", []), "dynamic": ("pt", ["--dynamic"]), "torchscript": ("torchscript", []), "dynamo": ("dynamo", [])}


def digest(*paths):
    h = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as f:
            h.update(f.read())
    return h.hexdigest()[:16]


# ---- what to do ----

def operators(folder):
    """name -> dtypes, as torch lists them; kept beside the recordings."""
    path = os.path.join(folder, "operators.txt")
    if not os.path.exists(path):
        text = subprocess.run([sys.executable, os.path.join(HERE, "opinfo_record.py"), "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
        os.makedirs(folder, exist_ok=True)
        with open(path + ".part", "w") as f:
            f.write(text)
        os.replace(path + ".part", path)
    with open(path) as f:
        return {name: dtypes.split(",") for name, dtypes in (line.split() for line in f)}


def wanted(name, only):
    """A pattern is part of a name, a glob over it, or =NAME for exactly that one; several with commas."""
    return not only or any(name == p[1:] if p[0] == "=" else p in name or fnmatch.fnmatchcase(name, p) for p in only.split(","))


class Job:
    """One recording in one form: all samples of an operator and dtype."""

    def __init__(self, o, name, dtype, form):
        self.name, self.dtype, self.form = name, dtype, form
        self.recorded, self.options = FORMS[form]
        self.options = self.options + (["--opset", o.opset] if o.opset and form not in PEERS else [])
        self.recording = os.path.join(o.recordings, "%s-%s" % (self.recorded, o.samples), "%s %s.pickle" % (name, dtype))
        self.verdicts = os.path.join(o.verdicts, "%s-%s%s" % (form, o.samples, "-" + o.opset if o.opset else ""), "%s %s.json" % (name, dtype))
        self.rows = {}                                          # index -> [sha, verdict, reason]

    def load(self):
        """The program and judge that made the rows of the last run, and when its recording was made."""
        if not os.path.exists(self.verdicts):
            return None
        with open(self.verdicts) as f:
            kept = json.load(f)
        self.rows = kept["rows"]
        return kept["made_by"]

    def store(self, made_by):
        os.makedirs(os.path.dirname(self.verdicts), exist_ok=True)
        part = "%s.%d.part" % (self.verdicts, os.getpid())
        with open(part, "w") as f:
            json.dump({"made_by": made_by, "rows": self.rows}, f)
        os.replace(part, self.verdicts)

    def samples(self):
        with open(self.recording, "rb") as f:
            return pickle.load(f)["samples"]


# ---- recording ----

def crashed_recording(job):
    """torch itself died of this operator: said in a recording, so that it is not tried again."""
    os.makedirs(os.path.dirname(job.recording), exist_ok=True)
    with open(job.recording, "wb") as f:
        pickle.dump({"op": job.name, "dtype": job.dtype, "form": job.recorded, "samples": [
            {"index": -1, "call": job.name, "program": None, "error": "torch crashed", "kind": "exact"}]}, f)


def record(jobs, o):
    """Make the recordings that are missing, each form in a process of its own, started again when it dies."""
    for form in sorted({j.recorded for j in jobs}):
        todo = {(j.name, j.dtype): j for j in jobs if j.recorded == form and not os.path.exists(j.recording)}
        total = len(todo)
        while todo:
            folder = os.path.dirname(next(iter(todo.values())).recording)
            os.makedirs(folder, exist_ok=True)
            command = [sys.executable, os.path.join(HERE, "opinfo_record.py"), "--form", form, "--out", folder, "--samples", o.samples]
            child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            before = len(todo)
            for key in list(todo):
                try:
                    print(*key, file=child.stdin, flush=True)
                    answer = child.stdout.readline()
                except BrokenPipeError:
                    answer = ""
                if not answer:                                  # it died
                    crashed_recording(todo.pop(key))
                    break
                del todo[key]
                progress("recording %s: %d of %d" % (form, total - len(todo), total), last=not todo)
            child.stdin.close()
            child.wait()
            if len(todo) == before:
                sys.exit("opinfo_record.py does not start: %s" % " ".join(command))


# ---- judging ----

class Judge:
    """A process that converts, runs and compares; started again after a crash."""

    def __init__(self, o, made_by):
        self.o, self.made_by, self.child = o, made_by, None
        self.folder = tempfile.mkdtemp(prefix="opinfo-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)

    def start(self):
        if not self.child or self.child.poll() is not None:
            self.child = subprocess.Popen([sys.executable, os.path.join(HERE, "opinfo_judge.py"), self.o.pt2onnx, self.folder],
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(self, job, known, skip):
        """Rows of a job; the index of the sample that the process died of, or None."""
        self.start()
        print(json.dumps({"recording": job.recording, "form": job.form if job.form in PEERS else job.recorded, "options": job.options,
                          "known": known, "skip": skip}), file=self.child.stdin, flush=True)
        at = None
        for line in self.child.stdout:
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == "start":
                at = rest
            elif word == "verdict":
                index, sha, verdict, reason = rest.split(" ", 3)
                job.rows[index] = [sha, verdict, json.loads(reason)]
            elif word == "done":
                return None
        return at

    def run(self, job, known):
        job.rows = {}
        skip = []
        while True:
            died = self.ask(job, known, skip)
            if died is None:
                break
            code = self.child.wait()
            job.rows[died] = ["-", "wrong", "ONNX Runtime crashes (%d)" % code]
            skip = [int(i) for i in job.rows]
        job.store(self.made_by)

    def close(self):
        if self.child:
            self.child.stdin.close()
            self.child.wait()
        for name in os.listdir(self.folder):
            os.remove(os.path.join(self.folder, name))
        os.rmdir(self.folder)


def judge(jobs, o):
    rules = digest(os.path.join(HERE, "opinfo_judge.py"), os.path.join(HERE, "opinfo_tolerance.py"))
    ours = digest(o.pt2onnx) + rules
    todo = queue.Queue()
    for job in jobs:
        made_by = job.load()
        current = rules if job.form in PEERS else ours
        if made_by != current or o.again:
            # same judge: the verdict on an unchanged model stands
            known = {} if o.again or not made_by or not made_by.endswith(rules) else {i: r for i, r in job.rows.items() if r[0] != "-"}
            todo.put((job, known, current))
    total, failed = todo.qsize(), []

    def work():
        j = Judge(o, None)
        try:
            while True:
                job, known, j.made_by = todo.get_nowait()
                j.run(job, known)
                progress("judging: %d of %d" % (total - todo.qsize(), total), last=todo.empty())
        except queue.Empty:
            pass
        except Exception as e:
            failed.append(e)
        finally:
            j.close()
    threads = [threading.Thread(target=work) for _ in range(o.jobs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failed:
        raise failed[0]


def progress(text, last=False):
    if sys.stderr.isatty():
        print("\r\033[K%s" % text, end="\n" if last else "", file=sys.stderr, flush=True)
    elif last or time.time() - progress.said > 30:
        print(text, file=sys.stderr, flush=True)
        progress.said = time.time()


progress.said = time.time()


# ---- what came out ----

def tally(jobs):
    count = collections.Counter()
    for job in jobs:
        count.update(row[1] for row in job.rows.values())
    return count


def first_reason(jobs):
    """Why not: of a wrong one first, of a refused one last."""
    for verdict in ("wrong", "nokernel", "refused", "assumed", "ort-fault", "unsavable"):
        for job in jobs:
            for row in job.rows.values():
                if row[1] == verdict:
                    return "%s %s: %s" % (job.form, job.dtype, row[2].replace("\n", " ")[:160])
    return ""


def by_name(jobs):
    table = collections.OrderedDict()
    for job in jobs:
        table.setdefault(job.name, []).append(job)
    return table


def table(jobs, out):
    ours = [j for j in jobs if j.form not in PEERS]
    peers = [form for form in PEERS if any(j.form == form for j in jobs)]
    head = "%-52s" % "operator" + "".join("%11s" % v for v in VERDICTS) + "".join("%13s" % ("+" + p) for p in peers)
    print(head + "  first reason", file=out)
    for name, of in list(by_name(jobs).items()) + [("sum", jobs)]:
        mine = [j for j in of if j.form not in PEERS]
        count = tally(mine)
        print("%-52s" % name + "".join("%11s" % (count[v] or ".") for v in VERDICTS)
              + "".join("%13d" % tally([j for j in of if j.form == p])["right"] for p in peers)
              + ("  " + first_reason(mine) if name != "sum" else ""), file=out)
    for form in FORMS:
        for dtype in sorted({j.dtype for j in jobs if j.form == form}):
            count = tally([j for j in jobs if j.form == form and j.dtype == dtype])
            print("%-52s" % ("%s %s" % (form, dtype)) + "".join("%11s" % (count[v] or ".") for v in VERDICTS), file=out)
    return tally(ours)


def right_samples(jobs, forms):
    return {(j.name, j.dtype, i) for j in jobs if j.form in forms for i, row in j.rows.items() if row[1] == "right"}


def beside_peers(jobs, out):
    """On the operators and dtypes that all three were asked: who is right how often, and where only a peer is."""
    asked = [{(j.name, j.dtype) for j in jobs if j.form == form} for form in ("pt", *PEERS)]
    common = set.intersection(*asked)
    jobs = [j for j in jobs if (j.name, j.dtype) in common]
    ours, (ts, dynamo) = right_samples(jobs, ("pt", "pt2")), (right_samples(jobs, (p,)) for p in PEERS)
    print("of the samples that all were asked: pt2onnx %d right, torchscript %d, dynamo %d, the two together %d" % (
        len(ours), len(ts), len(dynamo), len(ts | dynamo)), file=out)
    for name, dtype, index in sorted((ts | dynamo) - ours):
        verdicts = ["%s %s" % (j.form, j.rows[index][1]) for j in jobs if (j.name, j.dtype) == (name, dtype) and index in j.rows and j.form in ("pt", "pt2")]
        print("only a peer: %s %s #%s (%s)" % (name, dtype, index, ", ".join(verdicts)), file=out)


def list_wrong(jobs, out):
    for job in jobs:
        bad = {i: r for i, r in job.rows.items() if r[1] in ("wrong", "nokernel")}
        if not bad or job.form in PEERS:
            continue
        calls = {str(s["index"]): s["call"] for s in job.samples()}
        for i, row in bad.items():
            print("%s %s %s #%s %s: %s\n    %s" % (row[1], job.form, job.dtype, i, job.name, row[2].replace("\n", " ")[:300], calls.get(i, "")[:300]), file=out)


def show(jobs, o):
    """--verbose: every sample with its call and verdict, and its program kept as a file."""
    for job in jobs:
        for sample in job.samples():
            row = job.rows.get(str(sample["index"]))
            if not row or (row[1] in ("right", "unchecked") and not o.all):
                continue
            print("%s %s %s #%d\n    %s" % (row[1], job.form, job.dtype, sample["index"], sample["call"][:500]))
            print("    %s" % row[2].replace("\n", "\n    "))
            if sample["program"]:
                os.makedirs(o.keep, exist_ok=True)
                suffix = {"pt": ".pt", "pt2": ".pt2"}.get(job.recorded, ".onnx")
                path = os.path.join(o.keep, "%s.%s.%d%s" % (job.name, job.dtype, sample["index"], suffix))
                with open(path, "wb") as f:
                    f.write(sample["program"])
                print("    %s %s" % (path, " ".join(job.options)))


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pt2onnx", default="build/pt2onnx")
    p.add_argument("--only", default="", metavar="PATTERN", help="part of an operator's name, a glob over it, or =NAME; several with commas")
    p.add_argument("--dtypes", default="float32,int64,bool")
    p.add_argument("--forms", default="pt,pt2,dynamic")
    p.add_argument("--samples", default="4", help="of an operator and dtype, or all")
    p.add_argument("--opset", default="", help="the target; without it pt2onnx's own default")
    p.add_argument("--peers", action="store_true", help="also torch's own two exporters")
    p.add_argument("--again", action="store_true", help="forget earlier verdicts")
    p.add_argument("--verbose", action="store_true", help="show each sample that is not right, and keep its program")
    p.add_argument("--all", action="store_true", help="with --verbose: also the right ones")
    p.add_argument("--keep", default=os.path.join(tempfile.gettempdir(), "opinfo"), metavar="DIR", help="where --verbose keeps programs")
    p.add_argument("--recordings", default=os.path.join(CACHE, "opinfo", "recordings"), metavar="DIR")
    p.add_argument("--verdicts", default=os.path.join(CACHE, "opinfo", "verdicts"), metavar="DIR")
    p.add_argument("--recorded", action="store_true", help="only what is recorded already: torch is not started")
    p.add_argument("--summary", metavar="FILE", help="write the table there instead of printing it")
    p.add_argument("--wrong", metavar="FILE", help="write the samples that are wrong or lack a kernel there")
    p.add_argument("--jobs", type=int, default=1)
    o = p.parse_args()
    o.pt2onnx = os.path.abspath(o.pt2onnx)
    return o


def main():
    o = arguments()
    forms = o.forms.split(",") + (list(PEERS) if o.peers else [])
    if not os.path.exists(o.pt2onnx) or any(f not in FORMS for f in forms):
        sys.exit("%s is missing: run make" % o.pt2onnx if not os.path.exists(o.pt2onnx) else "forms are " + ", ".join(FORMS))
    jobs = [Job(o, name, dtype, form) for name, dtypes in operators(o.recordings).items() if wanted(name, o.only)
            for form in forms for dtype in o.dtypes.split(",") if dtype in dtypes]
    if o.recorded:
        jobs = [j for j in jobs if os.path.exists(j.recording)]
    if not jobs:
        sys.exit("nothing matches")
    record(jobs, o)
    judge(jobs, o)
    if o.verbose:
        show(jobs, o)
    if o.wrong:
        with open(o.wrong, "w") as f:
            list_wrong(jobs, f)
    count = report(jobs, o)
    if o.peers:
        beside_peers(jobs, sys.stdout)
    print("%d right, %d wrong, %d refused, %d without a kernel" % (count["right"], count["wrong"], count["refused"], count["nokernel"]))
    return 1 if count["wrong"] or not count["right"] else 0


def report(jobs, o):
    if not o.summary:
        return table(jobs, sys.stdout)
    with open(o.summary, "w") as f:
        return table(jobs, f)


if __name__ == "__main__":
    sys.exit(main())
