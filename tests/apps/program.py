"""What the tests of the program share: running it, and folders of their own. Usage of a test: TEST PROGRAM SOURCE_FOLDER"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
SOURCE = pathlib.Path(sys.argv[2])
NANO = str(SOURCE / "models/nano")


def run(*arguments, stdin="", code=0):
    """The standard output of a command that must end with `code`."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}: {done.stderr}"
    return done


def report(*arguments, stdin=""):
    """The JSON object that must be all of standard output."""
    out = run(*arguments, "--json", stdin=stdin).stdout
    assert out.count("\n") == 1 and out.endswith("\n"), out[:200]
    return json.loads(out)


def failure(*arguments, code):
    """The error object on the last line of standard error; nothing on standard output."""
    done = run(*arguments, "--json", code=code)
    assert done.stdout == "", done.stdout
    return json.loads(done.stderr.splitlines()[-1])["error"]


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, content=None):
        path = pathlib.Path(self.folder.name) / name
        if content is not None:
            path.write_text(content, encoding="utf-8", newline="")
        return str(path)


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
