#!/usr/bin/env python3
"""Compares Tercet's tokenizer with the `tokenizers` library (PyPI) and writes what the tests keep of that.

check_tokenizer.py compare TERCET MODEL [--text FILE] [--strings N] [--seed S]
    encodes FILE and N random byte strings with both; strings that differ must hold a listed code point
check_tokenizer.py differences
    rewrites tests/text/unicode_differences.txt from the tables of both sides (libpcre2-8 and libutf8proc)
check_tokenizer.py golden DATA
    rewrites tests/text/tokenizer_golden.h; DATA is the folder that TERCET_TEST_DATA names
"""

import argparse
import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile

from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIFFERENCES = ROOT / "tests/text/unicode_differences.txt"
GOLDEN = ROOT / "tests/text/tokenizer_golden.h"
SEPARATOR = "<|endoftext|>"
MASK = (1 << 64) - 1
SURROGATES = range(0xD800, 0xE000)
GOLDEN_STRINGS = 100_000
GOLDEN_DECODES = 20_000


# Random strings: tests/text/tokenizer_random.h makes the same ones.


def mix64(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class SplitMix64:
    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        value = mix64(self.state)
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        return value % n


# fmt: off
RANGES = [  # first, size
    (0x0, 0x80), (0x41, 26), (0x61, 26), (0x30, 10), (0x80, 0x1D0), (0x300, 0x70), (0x370, 0x3D0),
    (0x900, 0x480), (0x1100, 0x100), (0xAC00, 0x2BA4), (0x1E00, 0x200), (0x2000, 0x70), (0x3040, 0xC0),
    (0x4E00, 0x5200), (0x1F300, 0x700), (0x0, 0x10000), (0x10000, 0x10000), (0x0, 0x110000),
]
# fmt: on
# fmt: off
SNIPPETS = [
    "'s", "'LL", "'\u017f", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", "\u180e", "\u0085",
    "\u0660\u0669", "\u00bd\u00b2", "\u0966", "e\u0301", "\u0915\u094d\u0937\u093f", "\u30ab\u3099",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "q\u0307\u0323",
    "\u1112\u1161\u11ab", "\ufdfa", "\u212b", "\U0001d15e", "<|im_end|>", "<|im_end", "<think>", "</think>",
    "</",
]
# fmt: on
SNIPPETS = [s.encode() for s in SNIPPETS]


def encode_point(point):
    """UTF-8, and the bytes that it would have for a surrogate."""
    return chr(point).encode("utf-8", "surrogatepass")


def random_string(random):
    out = b""
    for _ in range(1 + random.below(24)):
        kind = random.below(len(RANGES) + 8)
        if kind < len(RANGES):
            first, size = RANGES[kind]
            out += encode_point(first + random.below(size))
        elif kind == len(RANGES):
            out += bytes([0x80 + random.below(0x80)])
        else:
            out += SNIPPETS[random.below(len(SNIPPETS))]
    return out


def random_ids(random, size):
    return [random.below(size + 8) for _ in range(1 + random.below(12))]


# The two sides' tables.


def compile_class(pattern):
    """A function: does PCRE2 find `pattern` in this character?"""
    pcre = ctypes.CDLL("libpcre2-8.so.0")
    pcre.pcre2_compile_8.restype = ctypes.c_void_p
    pcre.pcre2_match_data_create_8.restype = ctypes.c_void_p
    utf_ucp = 0x00080000 | 0x00020000
    error, offset = ctypes.c_int(), ctypes.c_size_t()
    code = ctypes.c_void_p(
        pcre.pcre2_compile_8(
            pattern.encode(),
            ctypes.c_size_t(len(pattern)),
            utf_ucp,
            ctypes.byref(error),
            ctypes.byref(offset),
            None,
        )
    )
    match = ctypes.c_void_p(pcre.pcre2_match_data_create_8(4, None))

    def matches(character):
        text = character.encode()
        return (
            pcre.pcre2_match_8(code, text, ctypes.c_size_t(len(text)), ctypes.c_size_t(0), 0, match, None)
            >= 0
        )

    return matches


class Utf8proc:
    def __init__(self):
        self.lib = ctypes.CDLL("libutf8proc.so.2")
        self.lib.utf8proc_NFC.restype = self.lib.utf8proc_NFD.restype = ctypes.c_void_p
        self.libc = ctypes.CDLL(None)

    def call(self, function, text):
        pointer = ctypes.c_void_p(function(text.encode()))
        result = ctypes.string_at(pointer).decode()
        self.libc.free(pointer)
        return result

    def nfc(self, text):
        return self.call(self.lib.utf8proc_NFC, text)

    def nfd(self, text):
        return self.call(self.lib.utf8proc_NFD, text)


def find_differences():
    """{kind: [code points]}: where a class differs, or what NFC does next to marks of any class."""
    characters = [chr(c) for c in range(1, 0x110000) if c not in SURROGATES]
    found = {}
    for kind, pattern in [("letter", r"\p{L}"), ("mark", r"\p{M}"), ("number", r"\p{N}"), ("space", r"\s")]:
        split = pre_tokenizers.Split(Regex(pattern), "removed")
        ours = compile_class(pattern)
        found[kind] = [ord(c) for c in characters if ours(c) != (split.pre_tokenize_str(c) == [])]
    utf8proc, theirs = Utf8proc(), normalizers.NFC()
    differs = lambda text: utf8proc.nfc(text) != theirs.normalize_str(text)
    moves = lambda c: any(utf8proc.nfc(s) != s or differs(s) for s in ("a\u0345" + c, "a" + c + "\u0334"))
    marks = [c for c in characters if moves(c)]
    nfc = {ord(c) for c in characters if differs(c)}
    known = [c for c in marks if not differs("a\u0345" + c) and not differs("a" + c + "\u0334")]
    nfc |= {ord(c) for c in marks if c not in known}
    classes = {}  # one mark for each way of ordering against a few others
    for c in known:
        classes.setdefault(tuple(utf8proc.nfc("a" + c + m) == "a" + c + m for m in known[:400]), c)
    nfc |= {ord(c) for c in known for m in classes.values() if differs("a" + c + m) or differs("a" + m + c)}
    for c in characters:
        parts = utf8proc.nfd(c)
        if parts != c and differs(parts):
            nfc |= {ord(c), ord(parts[-1])}
    found["nfc"] = sorted(nfc)
    return found


def to_ranges(points):
    ranges = []
    for point in points:
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return ranges


def write_differences():
    found = find_differences()
    counts = ", ".join(f"{len(points)} {kind}" for kind, points in found.items())
    lines = [
        "# Code points on which the Unicode tables of PCRE2 and utf8proc differ from those of the `tokenizers`",
        f"# library, by version: {counts}. Written by tools/check_tokenizer.py differences.",
    ]
    for kind, points in found.items():
        lines += [f"{kind} {first:04X} {last:04X}" for first, last in to_ranges(points)]
    DIFFERENCES.write_text("\n".join(lines) + "\n")
    print(counts)


def read_differences():
    points = set()
    for line in DIFFERENCES.read_text().splitlines():
        if not line.startswith("#"):
            _, first, last = line.split()
            points.update(map(chr, range(int(first, 16), int(last, 16) + 1)))
    return points


# What the tests keep.

# fmt: off
CASES = [
    "", " ", "Hello, world!", "The quick brown fox jumps over the lazy dog.", "   leading spaces",
    "trailing   ", "a\n\n\nb\r\n\r\n  c", "I'm you're we've they'll it's he'd DON'T 'S",
    "x = 3.14159 + 0b1011; // 42", "0123456789 \u0661\u0662\u0663 \u00bd \u2167 \u4e00\u4e8c",
    "\u4f60\u597d\uff0c\u4e16\u754c\uff01\u8fd9\u662f\u4e00\u4e2a\u4e2d\u6587\u53e5\u5b50\u3002",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
    "cafe\u0301 caf\u00e9 \u00c5 A\u030a \u212b", "q\u0307\u0323 q\u0323\u0307",
    "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f44d\U0001f3fd \U0001f1e9\U0001f1ea",
    "a\u00a0b\u3000c\u2003d\u2028e",
    "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n<think>easy</think>4<|im_end|>",
    "<|im_start <|im_end|><|im_end|>><<think>", '<tool_call>\n{"name": "f"}\n</tool_call>',
    "for (int i = 0; i < n; ++i) {\n\tsum += a[i];\n}\n", "\u0000\u0001\u007f\ufeff\ufffd\ufffe",
    b"\xff\xfe bad \xc3 \xc3\x28 \xe2\x82 \xf0\x9f\x98 end \xed\xa0\x80 \xc0\xaf \xf4\x90\x80\x80",
    b"\xf0\x9f\x98", "e<|im_end|>\u0301",
]
# fmt: on


def hash_ids(state, ids):
    for value in ids:
        state = mix64(state ^ value)
    return mix64(state ^ (1 << 32 | len(ids)))


def golden_hashes(tokenizer, text):
    """Hashes over random strings (each tenth of them), over random ids decoded, and over a text."""
    listed = read_differences()
    random, state, hashes, compared, skipped = SplitMix64(1), 0, [], 0, 0
    while compared < GOLDEN_STRINGS:
        string = random_string(random).decode("utf-8", "replace")
        if listed.intersection(string):
            skipped += 1
            continue
        state = hash_ids(state, tokenizer.encode(string, add_special_tokens=False).ids)
        compared += 1
        if compared % (GOLDEN_STRINGS // 10) == 0:
            hashes.append(state)
    random, decoded = SplitMix64(2), 0
    for i in range(GOLDEN_DECODES):
        ids = random_ids(random, tokenizer.get_vocab_size())
        decoded = hash_ids(decoded, tokenizer.decode(ids, skip_special_tokens=i % 2 == 1).encode())
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    return hashes, skipped, decoded, len(ids), hash_ids(0, ids)


def cpp_string(data):
    return (
        '"' + "".join(chr(b) if 0x20 <= b < 0x7F and b not in b'"\\?' else f"\\{b:03o}" for b in data) + '"'
    )


def write_golden(data):
    data = pathlib.Path(data)
    text = (data / "data/valid.txt").read_bytes().decode()
    nano = Tokenizer.from_file(str(ROOT / "models/nano/tokenizer.json"))
    qwen3 = Tokenizer.from_file(str(data / "data/qwen3-tokenizer/tokenizer.json"))
    cases = []
    for case in CASES:
        case = case if isinstance(case, bytes) else case.encode()
        ids = nano.encode(case.decode("utf-8", "replace"), add_special_tokens=False).ids
        cases.append(
            "    {std::string(" + cpp_string(case) + f", {len(case)}), {{" + ", ".join(map(str, ids)) + "}},"
        )
    lines = [
        "// Written by tools/check_tokenizer.py golden: what the `tokenizers` library makes of these. Do not edit.",
        "",
        "#pragma once",
        "",
        "#include <cstdint>",
        "#include <string>",
        "#include <vector>",
        "",
        "namespace tercet {",
        "",
        "struct GoldenCase {",
        "  std::string text;",
        "  std::vector<int32_t> ids;",
        "};",
        "",
        "/// Of nano's tokenizer.",
        "inline const std::vector<GoldenCase> kGoldenCases = {",
        *cases,
        "};",
        "",
        "/// `strings`: the hash after each tenth of the random strings; `skipped` of them held a listed code point.",
        "struct GoldenHashes {",
        "  std::vector<uint64_t> strings;",
        "  int64_t skipped;",
        "  uint64_t decoded;",
        "  int64_t valid_tokens;",
        "  uint64_t valid;",
        "};",
        "",
    ]
    for name, tokenizer in [("kNanoHashes", nano), ("kQwen3Hashes", qwen3)]:
        strings, skipped, decoded, tokens, valid = golden_hashes(tokenizer, text)
        strings = ", ".join(f"0x{value:016x}U" for value in strings)
        lines += [
            f"inline const GoldenHashes {name} = {{",
            f"    {{{strings}}},",
            f"    {skipped}, 0x{decoded:016x}U, {tokens}, 0x{valid:016x}U}};",
            "",
        ]
    lines += [
        f"constexpr int64_t kGoldenStrings = {GOLDEN_STRINGS};",
        f"constexpr int64_t kGoldenDecodes = {GOLDEN_DECODES};",
        "",
        "}  // namespace tercet",
    ]
    GOLDEN.write_text("\n".join(lines) + "\n")
    subprocess.run(["clang-format-14", "-i", str(GOLDEN)], check=True)


# The program itself.


def tercet_encode(tercet, model, data):
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        done = subprocess.run(
            [tercet, "tokenize", model, "--text", file.name, "--json"], check=True, stdout=subprocess.PIPE
        )
    return json.loads(done.stdout)["tokens"]


def split_at(ids, separator):
    pieces = [[]]
    for value in ids:
        if value == separator:
            pieces.append([])
        else:
            pieces[-1].append(value)
    return pieces


def compare(args):
    tokenizer = Tokenizer.from_file(args.model + "/tokenizer.json")
    failures = 0
    if args.text:
        data = pathlib.Path(args.text).read_bytes()
        theirs = tokenizer.encode(data.decode("utf-8", "replace"), add_special_tokens=False).ids
        equal = tercet_encode(args.tercet, args.model, data) == theirs
        print(f"{args.text}: {len(theirs)} tokens, {'equal' if equal else 'DIFFERENT'}")
        failures += not equal
    random = SplitMix64(args.seed)
    strings = [random_string(random) for _ in range(args.strings)]
    ours = split_at(
        tercet_encode(args.tercet, args.model, SEPARATOR.encode().join(strings)),
        tokenizer.token_to_id(SEPARATOR),
    )
    assert len(ours) == len(strings)
    listed, excused, holding = read_differences(), 0, 0
    for ids, string in zip(ours, strings):
        text = string.decode("utf-8", "replace")
        holds = bool(listed.intersection(text))
        holding += holds
        if ids == tokenizer.encode(text, add_special_tokens=False).ids:
            continue
        excused += holds
        if not holds:
            failures += 1
            print(f"DIFFERENT: {text!r}", file=sys.stderr)
    print(
        f"{len(strings)} random strings: {holding} hold a listed code point, {excused} of these differ; {failures} failures"
    )
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    comparison = commands.add_parser("compare")
    comparison.add_argument("tercet")
    comparison.add_argument("model")
    comparison.add_argument("--text")
    comparison.add_argument("--strings", type=int, default=GOLDEN_STRINGS)
    comparison.add_argument("--seed", type=int, default=0)
    commands.add_parser("differences")
    commands.add_parser("golden").add_argument("data")
    args = parser.parse_args()
    if args.command == "compare":
        return compare(args)
    if args.command == "differences":
        return write_differences()
    return write_golden(args.data)


if __name__ == "__main__":
    sys.exit(main())
