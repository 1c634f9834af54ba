#!/usr/bin/env python3
"""Fails on any include between the folders of src that docs/architecture.md does not allow, and on any circle between files.

The table is the house's plan: a folder may include itself and what is listed. CUDA's own headers stay in backends/cuda, and the server sees
no more of the runtime than its public header.
"""
import pathlib
import re
import sys

ALLOWED = {
    "base": set(),
    "format": {"base"},
    "text": {"base"},
    "checkpoint": {"base", "format"},
    "ops": {"base", "format"},
    "backends/ref": {"base", "format", "ops"},
    "backends/simd": {"base", "format", "ops"},
    "backends/cuda": {"base", "format", "ops"},
    "model": {"base", "format", "checkpoint", "ops"},
    "quant": {"base", "format", "checkpoint", "ops", "model"},
    "runtime": {"base", "ops", "model"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"


def folder_of(path):
    """The folder of the table that a path relative to src lies in; None if none does."""
    parts = pathlib.PurePosixPath(path).parts
    for name in ("/".join(parts[:2]), parts[0]):
        if name in ALLOWED:
            return name
    return None


def includes(file):
    return [(quoted, angled) for quoted, angled in INCLUDE.findall(file.read_text(encoding="utf-8"))]


def check_edges(file, errors):
    name = file.relative_to(SRC).as_posix()
    folder = folder_of(name)
    if folder is None:
        errors.append(f"src/{name}: lies in no folder of the plan")
        return []
    ours = []
    for quoted, angled in includes(file):
        if angled.startswith(("cuda", "cub/", "nv")) and folder != "backends/cuda":
            errors.append(f"src/{name}: includes <{angled}>; CUDA's headers stay in src/backends/cuda")
        if not quoted:
            continue
        target = folder_of(quoted)
        if target is None or not (SRC / quoted).exists():
            errors.append(f'src/{name}: "{quoted}" is no file of src; includes are written from src on')
        elif target != folder and target not in ALLOWED[folder]:
            errors.append(f'src/{name}: {folder} may not include {target} ("{quoted}")')
        else:
            ours.append(quoted)
    return ours


def find_circle(graph):
    """A list of files that include each other in a circle, or None."""
    state, stack = {}, []

    def visit(node):
        state[node] = "open"
        stack.append(node)
        for target in graph.get(node, []):
            if state.get(target) == "open":
                return stack[stack.index(target):] + [target]
            if target not in state:
                circle = visit(target)
                if circle:
                    return circle
        stack.pop()
        state[node] = "done"
        return None

    for node in sorted(graph):
        if node not in state:
            circle = visit(node)
            if circle:
                return circle
    return None


def main():
    errors, graph = [], {}
    files = sorted(f for f in SRC.rglob("*") if f.suffix in {".h", ".cpp", ".cu", ".cuh"})
    for file in files:
        graph[file.relative_to(SRC).as_posix()] = check_edges(file, errors)
    circle = find_circle(graph)
    if circle:
        errors.append("a circle of includes: " + " -> ".join(circle))
    for error in errors:
        print(error)
    print(f"layers: {len(files)} files, {len(errors)} errors")
    return 1 if errors or not files else 0


if __name__ == "__main__":
    sys.exit(main())
