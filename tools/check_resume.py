#!/usr/bin/env python3
"""Kills a quantization at random moments with SIGKILL, resumes it, and compares every byte with an undisturbed run.

The one clock in the output is the `time` column of quant_log.csv; it is blanked. Resumed runs take another number of threads.
A run that ends before its moment comes does not count.
usage: check_resume.py TERCET MODEL CALIBRATION [--times 20] [--moments 1] [OPTIONS OF QUANTIZE]
"""
import argparse
import csv
import hashlib
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time


def fingerprint(folder):
    """Hash of every file by its name, the log's clock blanked."""
    hashes = {}
    for file in sorted(pathlib.Path(folder).rglob("*")):
        data = file.read_bytes()
        if file.name == "quant_log.csv":
            rows = list(csv.DictReader(data.decode().splitlines()))
            data = repr([{k: v for k, v in row.items() if k != "time"} for row in rows]).encode()
        hashes[str(file.relative_to(folder))] = hashlib.sha256(data).hexdigest()
    return hashes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tercet")
    parser.add_argument("model")
    parser.add_argument("calibration")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--moments", type=int, default=1, help="seed of the moments")
    arguments, options = parser.parse_known_args()  # the rest goes to quantize
    rng = random.Random(arguments.moments)
    folder = tempfile.mkdtemp(prefix="tercet-resume-")

    def command(destination, *more):
        return [arguments.tercet, "quantize", arguments.model, destination, "--calibration", arguments.calibration, "--quiet",
                *options, *more]

    whole = os.path.join(folder, "whole")
    begin = time.monotonic()
    subprocess.run(command(whole, "--threads", "2"), check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - begin
    expected = fingerprint(whole)
    print(f"undisturbed: {seconds:.1f} s, {len(expected)} files", flush=True)

    equal = kills = runs = 0
    while runs < arguments.times:
        destination = os.path.join(folder, "run")
        moments = []
        for _ in range(rng.choice([1, 1, 2])):
            moment = rng.uniform(0, seconds)
            process = subprocess.Popen(command(destination, "--resume", "--threads", str(rng.choice([1, 2]))),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(timeout=moment)
            except subprocess.TimeoutExpired:
                process.kill()
                moments.append(f"{moment:.2f}")
            process.wait()
        if not os.path.exists(destination):
            subprocess.run(command(destination, "--resume", "--threads", str(rng.choice([1, 2]))), check=True,
                           stdout=subprocess.DEVNULL)
        found = fingerprint(destination)
        wrong = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
        shutil.rmtree(destination)
        if not moments:
            continue
        runs += 1
        kills += len(moments)
        equal += not wrong
        print(f"{runs}: killed after {', '.join(moments)} s: {'equal' if not wrong else 'differs in ' + ', '.join(wrong)}", flush=True)
    shutil.rmtree(folder)
    print(f"{equal} of {arguments.times} equal, {kills} kills")
    return 0 if equal == arguments.times else 1


if __name__ == "__main__":
    sys.exit(main())
