"""What goes wrong when the program is used: nothing is destroyed, and the reason is said. Only the standard library.
Usage: faults_test.py PROGRAM SOURCE_FOLDER"""
import fcntl
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess

from program import NANO, PROGRAM, SOURCE, Folder, failure, main, report, run

RTN = ["--method", "rtn"]
CALIBRATION = str(SOURCE / "data/calibration.txt")


def content(folder):
    """Every file of a folder by name, the log's clock blanked."""
    files = {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}
    log = files["quant_log.csv"].decode().splitlines()
    column = log[0].split(",").index("time")
    files["quant_log.csv"] = [line.split(",")[:column] + line.split(",")[column + 1:] for line in log]
    return files


class Destinations(Folder):
    def quantize(self, *more, code):
        return failure("quantize", NANO, self.file("out"), *RTN, *more, code=code)

    def test_one_process_at_a_time(self):
        os.mkdir(self.file("out.staging"))
        held = os.open(self.file("out.staging"), os.O_RDONLY)
        self.addCleanup(os.close, held)
        fcntl.flock(held, fcntl.LOCK_EX)
        self.assertIn("another process", self.quantize("--resume", "--overwrite", code=2)["message"])

    def test_foreign_folders_stay(self):
        for folder in ("out.staging", "out"):
            os.mkdir(self.file(folder))
            precious = self.file(f"{folder}/precious", "text")
            self.assertIn(folder, self.quantize("--overwrite", code=2)["file"])
            self.assertEqual(pathlib.Path(precious).read_text(), "text")
            shutil.rmtree(self.file(folder))
        for foreign in ("run.json.mine", "part-photos", "part-0.json/in"):
            os.makedirs(pathlib.Path(self.file("out.staging"), foreign).parent)
            precious = self.file(f"out.staging/{foreign}", "text")
            for options in ([], ["--resume"], ["--overwrite"]):
                self.assertIn("something else", self.quantize(*options, code=2)["message"])
            self.assertEqual(pathlib.Path(precious).read_text(), "text")
            shutil.rmtree(self.file("out.staging"))

    def test_dots_and_links_mean_what_the_system_means(self):
        os.makedirs(self.file("a/inner"))
        os.symlink(self.file("a/inner"), self.file("link"))
        run("quantize", NANO, self.file("out"), *RTN)
        before = content(self.file("out"))
        run("quantize", NANO, self.file("link/../out"), *RTN, "--bits", "3")
        self.assertEqual(content(self.file("out")), before)
        self.assertTrue(os.path.exists(self.file("a/out/config.json")))
        os.mkdir(self.file("here"))
        subprocess.run([PROGRAM, "quantize", NANO, ".", *RTN, "--overwrite", "--quiet"], cwd=self.file("here"), check=True,
                       stdout=subprocess.DEVNULL)
        self.assertEqual(content(self.file("here")), before)
        self.assertFalse([name for name in os.listdir(self.folder.name) if "staging" in name])

    def test_the_source_is_never_the_destination(self):
        source = self.file("model")
        shutil.copytree(NANO, source)
        os.symlink(source, self.file("link"))
        for destination in (source, source + "/", source + "/in", self.file("link"), self.folder.name):
            with self.subTest(destination=destination):
                error = failure("quantize", source, destination, *RTN, "--overwrite", code=2)
                self.assertIn("apart from the source", error["message"])
        done = subprocess.run([PROGRAM, "quantize", ".", "new/folder", *RTN], cwd=source, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(sorted(os.listdir(source)), sorted(os.listdir(NANO)))

    def test_what_appears_meanwhile_stays(self):
        options = ["--method", "gptq", "--samples", "16", "--sequence-length", "256", "--calibration", CALIBRATION]
        process = subprocess.Popen([PROGRAM, "quantize", NANO, self.file("out"), *options, "--json"], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not os.path.exists(self.file("out.staging/part-0.json")) and process.poll() is None:
            pass
        os.mkdir(self.file("out"))
        self.file("out/precious", "text")
        out, err = process.communicate(timeout=120)
        self.assertEqual((process.returncode, out), (2, ""))
        self.assertIn("appeared", json.loads(err.splitlines()[-1])["error"]["message"])
        os.rename(self.file("out"), self.file("aside"))
        run("quantize", NANO, self.file("out"), *options, "--resume")
        self.assertEqual(os.listdir(self.file("aside")), ["precious"])

    def test_resume_of_a_finished_run(self):
        run("quantize", NANO, self.file("out"), *RTN)
        os.mkdir(self.file("out.staging"))
        self.file("out.staging/precious", "text")
        run("quantize", NANO, self.file("out"), *RTN, "--resume")
        self.assertEqual(os.listdir(self.file("out.staging")), ["precious"])
        shutil.rmtree(self.file("out.staging"))
        shard = pathlib.Path(self.file("out/model-00001-of-00005.safetensors"))
        data = bytearray(shard.read_bytes())
        data[-1] ^= 1
        shard.write_bytes(data)
        self.assertIn("exists", self.quantize("--resume", code=2)["message"])

    def test_a_damaged_record_is_made_again(self):
        options = [*RTN, "--resume"]
        run("quantize", NANO, self.file("whole"), *options)
        for damage in ("", "{}", '{"sha256": 5}', '{"results": []}', '{"results": [{"loss": null}]}'):
            process = subprocess.Popen([PROGRAM, "quantize", NANO, self.file("out"), *options, "--threads", "1"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while not os.path.exists(self.file("out.staging/part-1.json")) and process.poll() is None:
                pass
            process.kill()
            process.wait()
            if os.path.exists(self.file("out.staging/part-1.json")):
                self.file("out.staging/part-1.json", damage)
            run("quantize", NANO, self.file("out"), *options)
            self.assertEqual(content(self.file("out")), content(self.file("whole")))
            shutil.rmtree(self.file("out"))

    def test_a_source_in_the_staging_folder_stays(self):
        shutil.copytree(NANO, self.file("out.staging/output"))
        self.file("out.staging/run.json", "{}")
        precious = self.file("out.staging/precious", "text")
        self.assertIn("something else", self.quantize("--resume", code=2)["message"])
        os.remove(precious)
        error = failure("quantize", self.file("out.staging/output"), self.file("out"), *RTN, "--overwrite", code=2)
        self.assertIn("apart", error["message"])
        self.assertTrue(os.path.exists(self.file("out.staging/output/config.json")))

    def test_logits_replace_no_input(self):
        shutil.copytree(NANO, self.file("model"))
        text = self.file("t", "Hello")
        for out in (self.file("model/tokenizer.json"), self.file("model/new"), text):
            error = failure("logits", self.file("model"), "--text", text, "--out", out, code=2)
            self.assertEqual(error["file"], out)
        self.assertEqual(pathlib.Path(text).read_text(), "Hello")
        os.makedirs(self.file("blobs"))
        os.rename(self.file("model/config.json"), self.file("blobs/config.json"))
        os.symlink(self.file("blobs/config.json"), self.file("model/config.json"))
        failure("logits", self.file("model"), "--ids", "1", "--out", self.file("blobs/config.json"), code=2)
        os.replace(self.file("blobs/config.json"), self.file("model/config.json"))
        failure("logits", self.file("model"), "--ids", "1", "--out", self.file("no/such"), code=1)
        self.assertEqual(sorted(os.listdir(self.file("model"))), sorted(os.listdir(NANO)))

    def test_a_slash_at_the_end_changes_nothing(self):
        run("quantize", NANO + "/", self.file("out") + "/", *RTN)
        self.assertEqual(os.listdir(self.folder.name), ["out"])

    def test_a_stopped_run_says_how_to_go_on(self):
        options = ["--method", "gptq", "--samples", "16", "--sequence-length", "256", "--calibration", CALIBRATION]
        for number, name in ((signal.SIGINT, "a"), (signal.SIGTERM, "b")):
            process = subprocess.Popen([PROGRAM, "quantize", NANO, self.file(name), *options, "--json"], text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            while not os.path.exists(self.file(f"{name}.staging/part-0.json")) and process.poll() is None:
                pass
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out), (-number, ""))
            self.assertIn("--resume", json.loads(err.splitlines()[-1])["error"]["message"])
            run("quantize", NANO, self.file(name), *options, "--resume")
        self.assertEqual(content(self.file("a")), content(self.file("b")))

    def test_a_source_that_shrinks(self):
        shutil.copytree(NANO, self.file("model"))
        process = subprocess.Popen([PROGRAM, "quantize", self.file("model"), self.file("out"), "--samples", "16",
                                    "--sequence-length", "256", "--calibration", CALIBRATION, "--json"], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not os.path.exists(self.file("out.staging/part-0.json")) and process.poll() is None:
            pass
        for shard in pathlib.Path(self.file("model")).glob("*.safetensors"):
            shard.chmod(0o644)
            os.truncate(shard, 1000)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (1, ""))
        self.assertEqual(json.loads(err.splitlines()[-1])["error"]["kind"], "io")
        self.assertFalse(os.path.exists(self.file("out")))

    def test_only_regular_files_are_written(self):
        os.mkfifo(self.file("pipe"))
        os.mkdir(self.file("folder"))
        for name in ("pipe", "folder"):
            error = failure("logits", NANO, "--ids", "1,2", "--out", self.file(name), code=1)
            self.assertEqual((error["kind"], error["file"]), ("io", self.file(name)))
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["folder", "pipe"])


class Values(Folder):
    def test_numbers_out_of_range(self):
        for option, values in (("--temperature", ("nan", "inf", "-1")), ("--top-p", ("nan", "-0.1", "1.1")),
                               ("--min-p", ("nan", "2")), ("--presence-penalty", ("nan", "inf")),
                               ("--repetition-penalty", ("nan", "inf", "0", "-1")), ("--top-k", ("-1",)),
                               ("--seed", ("-1", "18446744073709551616", "1x", "")), ("--threads", ("-1", "100000"))):
            for value in values:
                with self.subTest(option=option, value=value):
                    error = failure("generate", NANO, "--prompt", "a", f"{option}={value}", code=2)
                    self.assertIn(option, error["message"])
        self.assertIn("--damp", failure("quantize", NANO, self.file("out"), "--damp", "0", code=2)["message"])
        report("generate", NANO, "--prompt", "a", "--max-tokens", "1", "--seed", "18446744073709551615")

    def test_files_that_are_wrong_are_named(self):
        bad = self.file("bad.json", "{")
        empty = self.file("empty.json", "{}")
        for file in (bad, empty):
            for command in ("template", "generate"):
                self.assertEqual(failure(command, NANO, "--messages", file, code=2)["file"], file)
        rules = self.file("rules.json", '{"a": {"bits": 5}}')
        for file in (bad, rules):
            self.assertEqual(failure("quantize", NANO, self.file("out"), *RTN, "--recipe", file, code=2)["file"], file)
        self.assertEqual(os.listdir(self.folder.name).count("out"), 0)

    def test_the_models_context_is_a_limit(self):
        model = pathlib.Path(self.file("model"))
        shutil.copytree(NANO, model)
        config = json.loads((model / "config.json").read_text())
        config["text_config"]["max_position_embeddings"] = 32
        (model / "config.json").write_text(json.dumps(config))
        text = self.file("t", "The cat sat on the mat and looked at the dog. " * 20)
        for arguments in (["eval", model, "--text", text, "--context", "64"], ["bench", model, "--context", "64"],
                          ["logits", model, "--text", text, "--out", self.file("l")],
                          ["quantize", model, self.file("q"), "--calibration", text, "--samples", "1",
                           "--sequence-length", "64"]):
            self.assertEqual(failure(*arguments, code=2)["kind"], "usage")

    def test_stop_ids_without_a_generation_config(self):
        model = pathlib.Path(self.file("model"))
        shutil.copytree(NANO, model)
        generation = model / "generation_config.json"
        settings = json.loads(generation.read_text())
        question = self.file("m", json.dumps({"messages": [{"role": "user", "content": "Hi there"}],
                                              "enable_thinking": False}))
        asked = ["generate", model, "--messages", question, "--temperature", "0", "--max-tokens", "50"]
        expected = report(*asked)
        self.assertEqual(expected["finish_reason"], "stop")
        generation.unlink()
        self.assertEqual(report(*asked)["tokens"], expected["tokens"])
        for key, value in (("top_p", 5), ("min_p", -1), ("temperature", -5), ("repetition_penalty", 0),
                           ("do_sample", "false"), ("eos_token_id", "x")):
            generation.write_text(json.dumps(settings | {key: value}))
            self.assertIn(key, failure(*asked, code=1)["expected"])

    def test_too_little_memory_or_threads(self):
        available = int(pathlib.Path("/proc/meminfo").read_text().split("MemAvailable:")[1].split()[0]) * 1024
        if available < 700e9:
            error = failure("bench", "--synthetic", "Qwen3.5-397B-A17B", "--format", "bf16", "--device", "cpu", code=1)
            self.assertEqual(error["kind"], "device")
            self.assertIn("GB", error["found"])
        limited = subprocess.run(["bash", "-c", 'ulimit -v 1500000; "$0" generate "$1" --prompt a --threads 1024 --json',
                                  PROGRAM, NANO], capture_output=True, text=True, timeout=60)
        self.assertEqual(limited.returncode, 1)
        self.assertEqual(json.loads(limited.stderr.splitlines()[-1])["error"]["kind"], "device")

    def test_damaged_weights(self):
        model = pathlib.Path(self.file("model"))
        shutil.copytree(NANO, model)
        name = "model.language_model.norm.weight"
        shard = model / json.loads((model / "model.safetensors.index.json").read_text())["weight_map"][name]
        data = bytearray(shard.read_bytes())
        length = struct.unpack("<Q", data[:8])[0]
        begin, end = json.loads(data[8:8 + length])[name]["data_offsets"]
        data[8 + length + begin:8 + length + end] = b"\xff" * (end - begin)
        shard.chmod(0o644)
        shard.write_bytes(data)
        text = self.file("t", "The cat sat on the mat and looked at the dog. " * 20)
        for arguments in (["generate", model, "--prompt", "a"], ["bench", model, "--context", "4", "--prompt", "4"],
                          ["eval", model, "--text", text, "--context", "32"],
                          ["eval", NANO, "--reference", model, "--text", text, "--context", "32"]):
            error = failure(*arguments, code=1)
            self.assertEqual(error["kind"], "checkpoint")
            self.assertIn("not finite", error["message"])


class Streams(Folder):
    def shell(self, line):
        done = subprocess.run(["bash", "-c", line, PROGRAM, NANO], capture_output=True, text=True, timeout=60)
        return done.returncode

    def test_output_that_cannot_be_written(self):
        for arguments in ("--help", "--version", '"inspect" "$1"', '"inspect" "$1" --json', "eval --help"):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.shell(f'"$0" {arguments} > /dev/full'), 1)

    def test_nobody_listens(self):
        self.assertEqual(self.shell('"$0" inspect "$1" 2>&-'), 0)
        self.assertEqual(self.shell('"$0" inspect nothing 2>&-'), 1)
        self.assertEqual(self.shell('"$0" frobnicate 2>/dev/full'), 2)


if __name__ == "__main__":
    main()
