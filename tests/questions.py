"""Many questions to Snakemake: a process imports it once, and forks for each question."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from loading import environment

LATER = ("jsonschema", "nbformat", "pandas", "smart_open", "yte")  # for the workflow


class Snakemake:
    """Snakemake in a copy of the repository.

    Each question imports the package of the copy anew, but for the module that makes digests: it
    knows those of texts that it has seen.
    """

    def __init__(self, tree: Path) -> None:
        self.output = tree / "answer.txt"
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            cwd=tree,
            env=environment(tree),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, *arguments: str) -> str:
        """What Snakemake says to arguments, to which it must not object."""
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([str(self.output), *arguments]) + "\n")
        process.stdin.flush()
        status, said = process.stdout.readline().strip(), self.output.read_text()
        assert status == "0", said
        return said

    def close(self) -> None:
        self.process.communicate()


def answer_all() -> None:
    """Answers lines of standard input, each a JSON list: file for the output, then arguments."""
    from snakemake.cli import get_argument_parser, main

    from vwta.workflow import digest

    sys.path[0] = os.getcwd()  # as for `python -m snakemake`
    for name in LATER:
        import_module(name)
    get_argument_parser()  # which imports plugins
    for path in Path("src").rglob("*.py"):
        digest._content(path.read_text(encoding="utf-8"))
    for line in sys.stdin:
        output, *arguments = json.loads(line)
        child = os.fork()
        if not child:
            file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (sys.stdout, sys.stderr):
                os.dup2(file, stream.fileno())
            main(arguments)  # which ends the process
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    answer_all()
