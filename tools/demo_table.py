"""Prints the comparison of ./demo from the JSON files that it left in a folder. usage: demo_table.py FOLDER"""
import json
import sys

ROWS = [("nano", "BF16"), ("nano-rtn-4", "RTN 4 bits"), ("nano-gptq-4", "GPTQ 4 bits")]
HEAD = ["model", "size", "bits/weight", "perplexity", "KL (nats)", "top-1", "tasks", "prompt tok/s", "decode tok/s"]


def load(name, kind):
    with open(f"{sys.argv[1]}/{name}.{kind}.json", encoding="utf-8") as file:
        return json.load(file)


def speed(bench, phase):
    return next(run["tokens_per_second"]["median"] for run in bench["runs"] if run["phase"] == phase)


table = [HEAD]
for name, title in ROWS:
    inspect, evaluation, bench = (load(name, kind) for kind in ("inspect", "eval", "bench"))
    tasks = evaluation["tasks"]
    table.append([title, f"{inspect['bytes'] / 1e6:.1f} MB", f"{inspect['bits_per_weight']:.2f}", f"{evaluation['perplexity']:.2f}",
                  f"{evaluation['kl']['mean']:.4f}", f"{100 * evaluation['top1']:.1f} %",
                  f"{tasks['correct']}/{tasks['count']}", f"{speed(bench, 'prompt'):.0f}", f"{speed(bench, 'decode'):.0f}"])
widths = [max(len(row[i]) for row in table) for i in range(len(HEAD))]
print()
for row in table:
    print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))))
print("\nKL and top-1 against the BF16 model on 32,768 tokens of data/eval-small.txt; tasks: data/tasks-dev.jsonl, greedy; answers must be\nexact, and functions return the same values. Speeds: medians of three short runs, which other programs on the machine disturb.")
