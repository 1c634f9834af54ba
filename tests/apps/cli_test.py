"""Runs the built program as a user does: exit codes, JSON and nothing else on standard output, error lines, and the
bundled model's answers. Only the standard library. Usage: cli_test.py PROGRAM SOURCE_FOLDER"""
import json
import os
import pathlib
import signal
import struct
import subprocess
import time
import unittest

from program import NANO, PROGRAM, SOURCE, Folder, failure, main, report, run

GREEDY = json.loads((SOURCE / "models/nano/golden/greedy.json").read_text())


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        kind = {"F32": "f", "I32": "i"}[entry["dtype"]]
        values = struct.unpack(f"<{(end - begin) // 4}{kind}", data[8 + length + begin:8 + length + end])
        tensors[name] = (entry["shape"], values)
    return tensors


class Contract(Folder):
    def test_version(self):
        self.assertRegex(run("--version").stdout, r"^tercet \d+\.\d+\.\d+ \(.+, .+, .+, .*CUDA.*\)\n$")

    def test_help_of_every_command(self):
        commands = ["inspect", "quantize", "eval", "logits", "generate", "chat", "tokenize", "template", "bench",
                    "completion"]
        overview = run("--help").stdout
        for command in commands:
            self.assertIn(command, overview)
            self.assertIn("--help", run(command, "--help").stdout)

    def test_wrong_usage(self):
        for arguments in ([], ["frobnicate"], ["inspect"], ["inspect", NANO, "--no-such-option"],
                          ["generate", NANO], ["generate", NANO, "--prompt", "a", "--ids", "1"],
                          ["generate", NANO, "--prompt", ""], ["generate", NANO, "--ids", "1,99999"],
                          ["generate", NANO, "--prompt", "a", "--stop", ""], ["eval", NANO],
                          ["eval", NANO, "--reference", NANO], ["logits", NANO, "--out", "x"],
                          ["inspect", NANO, "--backend", "gpu"], ["bench"],
                          ["generate", NANO, "--prompt", "a", "--backend", "simd", "--device", "cuda"],
                          ["generate", NANO, "--prompt", "a", "--backend", "cuda", "--device", "cpu"],
                          ["generate", NANO, "--prompt", "a", "--device", "tpu"],
                          ["quantize", NANO, self.file("out")],
                          ["quantize", NANO, self.file("out"), "--method", "rtn", "--bits", "5"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(failure(*arguments, code=2)["kind"], "usage")
                self.assertIn("error", run(*arguments, code=2).stderr)

    def test_failures_say_where(self):
        missing = failure("inspect", self.file("nothing"), code=1)
        self.assertIn("nothing", missing["file"])
        os.mkdir(self.file("broken"))
        self.file("broken/config.json", "{")
        broken = failure("inspect", self.file("broken"), code=1)
        self.assertEqual(broken["kind"], "checkpoint")
        self.assertIn("config.json", broken["file"])
        for key in ("file", "tensor", "expected", "found", "message"):
            self.assertIn(key, broken)

    def test_completion(self):
        for shell, check in (("bash", ["bash", "-n"]), ("zsh", None), ("fish", None)):
            script = run("completion", shell).stdout
            for word in ("generate", "quantize", "temperature", "simd"):
                self.assertIn(word, script)
            if check:
                subprocess.run([*check, self.file("script", script)], check=True)
        self.assertEqual(failure("completion", "tcsh", code=2)["kind"], "usage")

    def test_bash_completion_completes(self):
        script = run("completion", "bash").stdout
        asked = "COMP_WORDS=(tercet eval --thinking ''); COMP_CWORD=3; _tercet; echo ${COMPREPLY[@]}"
        done = subprocess.run(["bash", "-c", script + asked], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.split(), ["on", "off", "task"])


class Text(Folder):
    def test_round_trip(self):
        text = "Ünïcode 你好 123\n  spaces<|im_end|>\tend"
        ids = report("tokenize", NANO, stdin=text)["tokens"]
        self.assertEqual(ids, report("tokenize", NANO, "--text", self.file("t", text))["tokens"])
        back = report("tokenize", NANO, "--decode", stdin=",".join(map(str, ids)))["text"]
        self.assertEqual(back, text)
        self.assertEqual(run("tokenize", NANO, stdin=text).stdout, ",".join(map(str, ids)) + "\n")
        plain = report("tokenize", NANO, "--no-special", stdin="<|im_end|>")["tokens"]
        self.assertGreater(len(plain), 1)

    def test_golden_prompts(self):
        for entry in GREEDY[:8]:
            self.assertEqual(report("tokenize", NANO, stdin=entry["prompt"])["tokens"], entry["ids"])

    def test_template(self):
        messages = self.file("m", json.dumps({"messages": [{"role": "user", "content": " Hallo "}],
                                              "enable_thinking": False}))
        head = "<|im_start|>user\nHallo<|im_end|>\n"
        self.assertEqual(report("template", NANO, "--messages", messages)["text"],
                         head + "<|im_start|>assistant\n<think>\n\n</think>\n\n")
        self.assertEqual(run("template", NANO, "--messages", messages, "--no-generation-prompt").stdout, head)
        refused = failure("template", NANO, "--messages", self.file("e", '{"messages": []}'), code=2)
        self.assertEqual(refused["message"], "no messages")


class Generate(Folder):
    def greedy(self, entry, *more):
        return report("generate", NANO, "--ids", ",".join(map(str, entry["ids"])), "--temperature", "0",
                      "--max-tokens", "160", *more)

    def test_greedy_equals_the_reference(self):
        for entry in GREEDY[:6] + GREEDY[24:28]:
            made = self.greedy(entry)
            self.assertEqual(made["tokens"], entry["out"])
            self.assertEqual(made["prompt_tokens"], len(entry["ids"]))
            stopped = entry["text"].endswith("<|im_end|>")
            self.assertEqual(made["finish_reason"], "stop" if stopped else "length")
            self.assertEqual(made["text"], entry["text"].removesuffix("<|im_end|>"))
            for key in ("load_seconds", "prompt_seconds", "decode_seconds", "prompt_tokens_per_second",
                        "decode_tokens_per_second"):
                self.assertGreaterEqual(made["timing"][key], 0)

    def test_prompt_and_messages_agree(self):
        by_text = report("generate", NANO, "--prompt", GREEDY[0]["prompt"], "--temperature", "0")
        self.assertEqual(by_text["tokens"], GREEDY[0]["out"])
        user = GREEDY[0]["prompt"].split("user\n")[1].split("<|im_end|>")[0]
        messages = self.file("m", json.dumps({"messages": [{"role": "user", "content": user}],
                                              "enable_thinking": False}))
        self.assertEqual(report("generate", NANO, "--messages", messages, "--temperature", "0")["tokens"],
                         GREEDY[0]["out"])

    def test_stop_strings_across_tokens(self):
        entry = max(GREEDY, key=lambda e: len(e["out"]))
        free = self.greedy(entry)
        text = free["text"]
        for begin, end in ((20, 27), (31, 34), (60, 61)):
            stop = text[begin:end]
            made = self.greedy(entry, "--stop", stop, "--stop", "never to be seen")
            self.assertEqual(made["finish_reason"], "stop")
            self.assertEqual(made["text"], text[:text.index(stop)])
            self.assertEqual(made["tokens"], free["tokens"][:len(made["tokens"])])
            self.assertLess(len(made["tokens"]), len(free["tokens"]))
        # What could have become a stop string is handed out at the end.
        self.assertEqual(self.greedy(entry, "--stop", text[-3:] + "\x01")["text"], text)

    def test_plain_output_is_the_text(self):
        out = run("generate", NANO, "--prompt", GREEDY[1]["prompt"], "--temperature", "0", "--max-tokens", "160").stdout
        self.assertEqual(out, GREEDY[1]["text"].removesuffix("<|im_end|>") + "\n")

    def test_limits(self):
        made = self.greedy(GREEDY[1])
        short = report("generate", NANO, "--prompt", GREEDY[1]["prompt"], "--temperature", "0", "--max-tokens", "3")
        self.assertEqual(short["tokens"], made["tokens"][:3])
        self.assertEqual(short["finish_reason"], "length")
        on = report("generate", NANO, "--prompt", GREEDY[0]["prompt"], "--temperature", "0", "--max-tokens", "12",
                    "--ignore-eos")
        self.assertEqual(len(on["tokens"]), 12)
        self.assertEqual(on["tokens"][:len(GREEDY[0]["out"])], GREEDY[0]["out"])

    def test_seeds(self):
        def draw(*more):
            return report("generate", NANO, "--prompt", "The", "--max-tokens", "24", "--temperature", "1.2", "--top-k",
                          "0", "--top-p", "1", *more)["tokens"]
        self.assertEqual(draw("--seed", "5"), draw("--seed", "5"))
        self.assertNotEqual(draw("--seed", "5"), draw("--seed", "6"))
        self.assertNotEqual(draw("--seed", "5"), draw("--seed", "5", "--min-p", "0.9"))


class Judge(Folder):
    def test_logits(self):
        ids = GREEDY[1]["ids"][:10]
        text = ",".join(map(str, ids))
        whole, parts = self.file("a.safetensors"), self.file("b.safetensors")
        report("logits", NANO, "--ids", text, "--out", whole, "--hidden", "--mtp")
        run("logits", NANO, "--ids", text, "--out", parts, "--hidden", "--mtp", "--chunk", "3")
        self.assertEqual(pathlib.Path(whole).read_bytes(), pathlib.Path(parts).read_bytes())
        tensors = read_safetensors(whole)
        self.assertEqual({name: shape for name, (shape, _) in tensors.items()},
                         {"ids": [10], "logits": [10, 8192], "hidden": [5, 10, 256], "mtp_logits": [9, 8192]})
        self.assertEqual(list(tensors["ids"][1]), ids)
        logits = tensors["logits"][1]
        last = logits[9 * 8192:]
        made = report("generate", NANO, "--ids", text, "--temperature", "0", "--max-tokens", "1")["tokens"]
        self.assertEqual(made, [last.index(max(last))])

    def test_text_against_itself(self):
        text = self.file("t", "\n\x1e\n".join(["The cat sat on the mat and looked at the dog. " * 12, "两个文件。" * 30]))
        result = report("eval", NANO, "--text", text, "--context", "64", "--reference", NANO)
        tokens = report("tokenize", NANO, "--text", text)["tokens"]
        self.assertEqual(result["tokens"] % 64, 0)
        self.assertLessEqual(result["tokens"], len(tokens) + 2)
        self.assertEqual(result["kl"], {"mean": 0, "median": 0, "p99": 0, "p999": 0, "max": 0})
        self.assertEqual((result["top1"], result["top5"]), (1, 1))
        self.assertGreater(result["cross_entropy"], 0)
        # Every window on its own: the windows' size decides nothing else.
        half = report("eval", NANO, "--text", text, "--context", "64", "--tokens", "128")
        self.assertEqual(half["tokens"], 128)
        failure("eval", NANO, "--text", text, "--context", "100000", code=2)
        failure("eval", NANO, "--text", text, "--context", "64", "--tokens", "63", code=2)

    def test_cross_entropy_is_what_the_logits_say(self):
        import math
        text = self.file("t", "It was the best of times, it was the worst of times. " * 4)
        result = report("eval", NANO, "--text", text, "--context", "16", "--tokens", "16")
        out = self.file("l.safetensors")
        ids = report("tokenize", NANO, "--text", text)["tokens"][:16]
        report("logits", NANO, "--ids", ",".join(map(str, ids)), "--out", out)
        logits = read_safetensors(out)["logits"][1]
        total = 0
        for i in range(15):
            row = logits[i * 8192:(i + 1) * 8192]
            top = max(row)
            total += math.log(sum(math.exp(x - top) for x in row)) + top - row[ids[i + 1]]
        self.assertAlmostEqual(result["cross_entropy"], total / 15, places=5)
        self.assertAlmostEqual(result["perplexity"], math.exp(total / 15), places=2)

    def test_tasks(self):
        lines = (SOURCE / "data/tasks-dev.jsonl").read_text().splitlines()
        chosen = [line for line in lines if json.loads(line)["category"] in ("add", "code", "capital")]
        chosen = [line for i, line in enumerate(chosen) if i % 15 == 0]
        result = report("eval", NANO, "--tasks", self.file("tasks", "\n".join(chosen) + "\n"))["tasks"]
        self.assertEqual(result["count"], len(chosen))
        self.assertEqual(result["count"], sum(c["count"] for c in result["by_category"].values()))
        self.assertEqual(result["correct"], sum(c["correct"] for c in result["by_category"].values()))
        self.assertAlmostEqual(result["score"], result["correct"] / result["count"])
        self.assertGreater(result["by_category"]["code"]["correct"], 0)
        limited = report("eval", NANO, "--tasks", self.file("tasks"), "--limit", "2", "--thinking", "off")["tasks"]
        self.assertEqual(limited["count"], 2)
        failure("eval", NANO, "--tasks", self.file("bad", '{"id": 1}\n'), code=2)

    def test_bench(self):
        result = report("bench", NANO, "--context", "8,16", "--batch", "1,2", "--prompt", "20", "--repetitions", "1",
                        "--threads", "1")
        self.assertEqual([(r["phase"], r["context"], r["batch"]) for r in result["runs"]],
                         [("prompt", 20, 1), ("decode", 8, 1), ("decode", 16, 1), ("decode", 8, 2), ("decode", 16, 2)])
        for one in result["runs"]:
            speed = one["tokens_per_second"]
            self.assertLessEqual(speed["min"], speed["median"])
            self.assertLessEqual(speed["median"], speed["max"])
            self.assertGreater(one["bytes_per_token"], 0)
            self.assertGreater(one["fraction_of_bandwidth"], 0)
        self.assertGreater(result["limits"]["read_bytes_per_second"], 1e8)
        self.assertRegex(result["logits_hash"], r"^[0-9a-f]{64}$")


class Checkpoints(Folder):
    def test_inspect_and_quantize(self):
        before = report("inspect", NANO)
        self.assertEqual(before["layers"], 4)
        self.assertAlmostEqual(before["bits_per_weight"], 16, places=2)
        self.assertEqual(before["bytes"], sum(c["bytes"] for c in before["components"]))
        made = report("quantize", NANO, self.file("rtn"), "--method", "rtn")
        after = report("inspect", self.file("rtn"))
        self.assertEqual(after["quantization"], {"method": "rtn", "container": "gptq", "bits": 4, "group_size": 128})
        self.assertAlmostEqual(after["bits_per_weight"], made["bits_per_weight"])
        self.assertAlmostEqual(made["quantized_bits_per_weight"], 4.156, places=2)
        self.assertEqual(failure("quantize", NANO, self.file("rtn"), "--method", "rtn", code=2)["kind"], "usage")
        text = self.file("t", "The cat sat on the mat and looked at the dog. " * 20)
        result = report("eval", self.file("rtn"), "--text", text, "--context", "64", "--reference", NANO)
        self.assertGreater(result["kl"]["mean"], 0)
        self.assertGreater(result["activation_divergence"]["kl_mean"], 0)
        self.assertLess(result["activation_divergence"]["kl_mean"], result["kl"]["mean"])
        exact = report("eval", self.file("rtn"), "--text", text, "--context", "64", "--exact")
        self.assertNotIn("activation_divergence", exact)


    def test_the_configuration_says_what_was_written(self):
        def written(name):
            return json.loads(pathlib.Path(self.file(name), "config.json").read_text())["quantization_config"]
        rules = self.file("rules", '{"+:.*mlp.shared.*": {"method": "gptq"}}')
        run("quantize", NANO, self.file("mixed"), "--method", "rtn", "--desc-act", "--recipe", rules, "--samples", "4",
            "--sequence-length", "128", "--calibration", SOURCE / "data/calibration.txt")
        self.assertTrue(written("mixed")["desc_act"])
        self.assertFalse(written("mixed")["lm_head"])
        keep = self.file("keep", '{"-:.*mlp.*": {}}')
        run("quantize", self.file("mixed"), self.file("again"), "--method", "rtn", "--recipe", keep)
        self.assertTrue(written("again")["desc_act"])
        run("quantize", NANO, self.file("head"), "--method", "rtn", "--all-linears")
        run("quantize", self.file("head"), self.file("kept"), "--method", "rtn")
        self.assertTrue(written("kept")["lm_head"])
        self.assertFalse(written("kept")["desc_act"])

    def test_tasks_are_spread_evenly(self):
        result = report("eval", NANO, "--tasks", SOURCE / "data/tasks-dev.jsonl", "--limit", "24")["tasks"]
        self.assertEqual(result["count"], 24)
        self.assertGreaterEqual(len(result["by_category"]), 11)

    def test_words_that_fit_nowhere(self):
        self.assertIn("no command 'quantise'", failure("quantise", "a", "b", code=2)["message"])
        self.assertIn("no option '--referense'", failure("eval", "--referense", "a", NANO, code=2)["message"])


class Chat(Folder):
    def chat(self, *lines, thinking="off"):
        return report("chat", NANO, "--temperature", "0", "--thinking", thinking, "--max-tokens", "120",
                      stdin="".join(line + "\n" for line in lines))["messages"]

    def test_turns_are_what_generate_says(self):
        messages = self.chat("What is the capital of France?", "Compute 12 + 30.")
        self.assertEqual([m["role"] for m in messages], ["user", "assistant"] * 2)
        for turn in (1, 3):
            file = self.file("m", json.dumps({"messages": messages[:turn], "enable_thinking": False}))
            cold = report("generate", NANO, "--messages", file, "--temperature", "0", "--max-tokens", "120")
            self.assertEqual(messages[turn]["content"], cold["text"])

    def test_warm_reasoning_is_what_generate_says(self):
        messages = self.chat("Compute 12 + 30.", "Compute 7 + 5.", thinking="on")
        file = self.file("m", json.dumps({"messages": messages[:3]}))
        cold = report("generate", NANO, "--messages", file, "--temperature", "0", "--max-tokens", "120")
        self.assertEqual(messages[3]["content"], cold["text"])

    def test_commands(self):
        messages = self.chat("one", "/reset", "two", "/exit", "three")
        self.assertEqual([m["content"] for m in messages if m["role"] == "user"], ["two"])

    def test_interrupt_stops_the_reply_only(self):
        process = subprocess.Popen([PROGRAM, "chat", NANO, "--threads", "1", "--max-tokens", "30000", "--context", "32000",
                                    "--backend", "ref", "--temperature", "2", "--top-k", "0", "--top-p", "1"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        process.stdin.write(b"Tell me a long story.\n")
        process.stdin.flush()
        self.assertTrue(process.stdout.read(1))
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        self.assertIsNone(process.poll())
        process.stdin.write(b"/exit\n")
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)


if __name__ == "__main__":
    main()
