#!/usr/bin/env python3
"""Quantizes a model in every way whose effect is claimed, each step switched on alone, and measures what each lost.

Prints a table (Markdown) of KL(BF16 || quantized) and top-1, by `tercet eval` on what `tercet quantize` wrote, with exact
activations and as the CPU runs it by default. What is in FOLDER already is not made again, so that a stopped run goes on.
usage: fidelity_table.py TERCET MODEL CALIBRATION TEXT FOLDER [--tokens 98304] [--rows REGEX] [--jobs 1] [--threads 2]
                         [--all-linears] [OPTIONS OF QUANTIZE]
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess

STEPS = [("feedback alone", ["--no-corrected-target", "--refit", "0"]), ("corrected target", ["--refit", "0"]),
         ("refit", ["--no-corrected-target"]), ("corrected target, refit", [])]
ROWS = {}
for bits in (4, 3):
    ROWS[f"RTN-{bits}, largest value"] = ["--method", "rtn", "--bits", str(bits)]
    ROWS[f"RTN-{bits}, scale searched"] = ["--method", "rtn", "--bits", str(bits), "--scale-search"]
    for step, options in STEPS:
        ROWS[f"GPTQ-{bits}, {step}"] = ["--method", "gptq", "--bits", str(bits), *options]


def measure(arguments, row, more):
    """The reports of quantize, of eval with exact activations, and of eval as it is by default."""
    common = ["--json", "--quiet", "--threads", str(arguments.threads)]
    folder = pathlib.Path(arguments.folder, re.sub(r"\W+", "-", row.lower()))

    def run(name, *command):
        output = folder.with_suffix(f".{name}.json")
        if not output.exists():
            text = subprocess.run([arguments.tercet, *command, *common], check=True, stdout=subprocess.PIPE, text=True).stdout
            output.with_suffix(".part").write_text(text)
            output.with_suffix(".part").rename(output)
        return json.loads(output.read_text())

    made = run("quantize", "quantize", arguments.model, folder, "--calibration", arguments.calibration, "--resume", *ROWS[row], *more)
    tokens = ["--tokens", str(arguments.tokens)] if arguments.tokens else []
    judge = ["eval", folder, "--reference", arguments.model, "--text", arguments.text, *tokens]
    return made, run("exact", *judge, "--exact"), run("eval", *judge)


def main():
    parser = argparse.ArgumentParser()
    for name in ("tercet", "model", "calibration", "text", "folder"):
        parser.add_argument(name)
    parser.add_argument("--tokens", type=int, help="default: all")
    parser.add_argument("--rows", default="", help="only rows in which this is found")
    parser.add_argument("--jobs", type=int, default=1, help="rows at a time")
    parser.add_argument("--threads", type=int, default=2, help="of each")
    arguments, more = parser.parse_known_args()  # the rest goes to quantize
    os.makedirs(arguments.folder, exist_ok=True)
    rows = [row for row in ROWS if re.search(arguments.rows, row)]
    print("| method | bits | KL | top-1 | KL, int8 activations | fallbacks | seconds |\n|---|---|---|---|---|---|---|", flush=True)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for row, (made, exact, default) in zip(rows, pool.map(lambda row: measure(arguments, row, more), rows)):
            print(f"| {row} | {made['quantized_bits_per_weight']:.3f} | {exact['kl']['mean']:.5f} | {exact['top1']:.4f} | "
                  f"{default['kl']['mean']:.5f} | {made['fallbacks']} | {made['seconds']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
