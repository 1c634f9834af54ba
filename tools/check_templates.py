#!/usr/bin/env python3
"""Compares the chat-template engine with Python's jinja2, set up as the transformers library sets it up.

    check_templates.py --test build/cpu/tests/test_text            2,000 conversations x all templates, and expressions
    check_templates.py --write                                     the sample that tests/text replays without Python

Needs jinja2 3.1.6 (PyPI): earlier ones differ in a handful of expressions. Conversations are made from --seed, so a run can be repeated.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import template_conversations
import template_expressions
from template_oracle import render

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "text" / "templates"


def templates():
    """Name -> source of every template."""
    found = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.jinja"))}
    found["nano"] = (ROOT / "models" / "nano" / "chat_template.jinja").read_text(encoding="utf-8")
    return found


def conversation_cases(sources, conversations):
    for text, add_generation_prompt in conversations:
        for name, source in sources.items():
            yield {"template": name, "conversation": text, "add_generation_prompt": add_generation_prompt,
                   **render(source, text, add_generation_prompt)}


def expression_cases():
    for source in template_expressions.sources():
        text = template_expressions.CONVERSATION
        yield {"source": source, "conversation": text, "add_generation_prompt": True, **render(source, text, True)}


def write_lines(path, cases):
    """Writes cases, one a line; one without a conversation has that of the line before."""
    count = failures = 0
    previous = None
    with open(path, "w", encoding="utf-8") as file:
        for case in cases:
            count += 1
            failures += "expected" not in case
            if case["conversation"] == previous:
                del case["conversation"]
            previous = case.get("conversation", previous)
            file.write(json.dumps(case, ensure_ascii=True) + "\n")
    return count, failures


def run_test(program, cases):
    """Renders the cases with the test program; returns how many there were and how many expect an error."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        count, failures = write_lines(file.name, cases)
        result = subprocess.run([program, "--gtest_filter=TemplateCases.FromEnvironment", "--gtest_brief=1"],
                                env={**os.environ, "TERCET_TEMPLATE_CASES": file.name}, capture_output=True, text=True)
        if result.returncode != 0:
            print(result.stdout[-8000:], result.stderr[-2000:], sep="\n")
            sys.exit(f"the engine and jinja2 differ; the first differences are above ({count} cases)")
    return count, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test", help="the test program of src/text (test_text)")
    parser.add_argument("--write", action="store_true", help="write tests/text/templates/cases")
    parser.add_argument("--count", type=int, default=2000, help="conversations")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    sources = templates()
    if arguments.write:
        sample = template_conversations.make(arguments.seed, 4, small=True)
        print("conversations:", write_lines(FOLDER / "cases" / "conversations.jsonl", conversation_cases(sources, sample)))
        print("expressions:", write_lines(FOLDER / "cases" / "expressions.jsonl", expression_cases()))
    if arguments.test:
        total = errors = 0
        for start in range(0, arguments.count, 250):
            size = min(250, arguments.count - start)
            conversations = template_conversations.make(arguments.seed + start, size)
            count, failures = run_test(arguments.test, conversation_cases(sources, conversations))
            total, errors = total + count, errors + failures
        expressions, expression_errors = run_test(arguments.test, expression_cases())
        print(f"{arguments.count} conversations x {len(sources)} templates: {total} equal ({errors} of them errors); "
              f"{expressions} expressions equal ({expression_errors} of them errors)")


if __name__ == "__main__":
    main()
