"""What several tests need."""

import importlib
import pkgutil
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import vwta.figures

ROOT = Path(__file__).resolve().parents[1]
PARTS = ["Snakefile", "config", "envs", "profiles", "src", "workflow"]


@pytest.fixture(scope="session")
def copy_repository() -> Callable[[Path], Path]:
    """Copies all that the workflow consists of into a folder, and gives the folder."""

    def copy_repository(tree: Path) -> Path:
        tree.mkdir(exist_ok=True)
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, tree / part)
        return tree

    return copy_repository


class Website(ThreadingHTTPServer):
    """Answers each request for a path by the next of its answers, the last one for ever."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Visit)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.answers: dict[str, list[tuple[int, bytes]]] = {}
        self.seen: list[str] = []


class Visit(BaseHTTPRequestHandler):
    server: Website

    def do_GET(self) -> None:
        self.server.seen.append(self.path)
        answers = self.server.answers.get(self.path, [(404, b"")])
        status, body = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def website(monkeypatch: pytest.MonkeyPatch) -> Iterator[Website]:
    """A server on this machine: `answers` by path, its `address`, and the paths it has `seen`."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Website() as website:
        thread = threading.Thread(target=website.serve_forever, args=(0.02,))
        thread.start()
        yield website
        website.shutdown()
        thread.join()


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Figures in place of their files, whichever module draws them."""
    figures: list[Figure] = []

    def keep(figure: Figure, paths: list[Path]) -> None:
        figure.draw_without_rendering()
        figures.append(figure)
        plt.close(figure)

    for found in pkgutil.iter_modules(vwta.figures.__path__):
        module = importlib.import_module(f"vwta.figures.{found.name}")
        if hasattr(module, "save"):
            monkeypatch.setattr(module, "save", keep)
    return figures
