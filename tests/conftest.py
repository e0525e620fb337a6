"""Fixtures of several tests."""

import importlib
import json
import pkgutil
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, settings
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import vwta.paper.figures
from vwta.io.storage import write_table
from vwta.paper.collection import write_parts
from vwta.paper.downloads.transfer import Policy
from vwta.paper.metrics import tidy
from vwta.paper.page.contents import Contents, gather
from vwta.paper.verdicts.differences import COLUMNS as DIFFERENCES
from vwta.paper.verdicts.table import COLUMNS as VERDICTS

# The same examples in every run, however busy the machine is; a folder for each test will do.
settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("fixed")

ROOT = Path(__file__).resolve().parents[1]
pytest_plugins = ["guard"]
# These take longest. They are begun first, so that other files fill the other cores beside them.
LONGEST = ["test_reruns.py", "test_audio_rules.py", "test_bad_input.py", "test_package.py"]
PARTS = ["CITATION.cff", "README.md", "Snakefile", "config", "envs", "profiles", "src", "workflow"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the files that take longest first, each with its tests in order."""
    names = [*LONGEST, None]
    items.sort(key=lambda item: names.index(item.path.name if item.path.name in names else None))


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
def waits() -> list[float]:
    """How long the downloads of a test would have waited."""
    return []


@pytest.fixture
def policy(waits: list[float]) -> Policy:
    return Policy(sleep=waits.append, timeout=(5.0, 5.0), margin=0)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Figures in place of their files, whichever module draws them."""
    figures: list[Figure] = []

    def keep(figure: Figure, paths: list[Path]) -> None:
        figure.draw_without_rendering()
        figures.append(figure)
        plt.close(figure)

    for found in pkgutil.iter_modules(vwta.paper.figures.__path__):
        module = importlib.import_module(f"vwta.paper.figures.{found.name}")
        if hasattr(module, "save"):
            monkeypatch.setattr(module, "save", keep)
    return figures


def verdicts() -> pd.DataFrame:
    """Verdicts on three numbers, under two protocols, and on two claims."""
    rows = []
    for place, (study, dataset, word) in enumerate(
        [
            ("synthetic", "rotating_moons", "worse"),
            ("uci", "boston", "reproduced"),
            ("uci", "wine", "not run"),
        ]
    ):
        for protocol in ("paper", "literal"):
            about = {"id": f"{study}/{dataset}/nll", "study": study, "dataset": dataset}
            about |= {"metric": "nll", "method": "v_wta", "K": 16, "protocol": protocol}
            about |= {"printed": 2.5, "printed_low": 2.4, "printed_high": 2.6, "source": "printed"}
            if word != "not run":
                about |= {"ours": 2.5 + place, "deviation": 0.1, "low": 2.4, "high": 2.6}
                about |= {"difference": float(place), "measured_on": dataset}
            about |= {"verdict": word, "rule": "a <rule>", "headline": protocol == "paper"}
            rows.append({"kind": "number", **about})
    case = {"where": {"dataset": "boston"}, "holds": False, "margin": -1.0, "numbers": {"nll": 2.5}}
    for word in ("holds", "fails"):
        about = {"id": word, "study": "uci", "protocol": "paper", "headline": True}
        about |= {"says": f"<script>alert('{word}')</script> & so on", "held": 0, "judged": 1}
        rows.append({"kind": "claim", **about, "verdict": word, "cases": json.dumps([case])})
    table = pd.DataFrame(rows, columns=list(VERDICTS))
    texts = [name for name, kind in VERDICTS.items() if kind == "str"]
    table[texts] = table[texts].astype(object).fillna("")
    table = table.astype(VERDICTS)
    classes = {"worse": "neither", "reproduced": "from the text, converged", "not run": "not run"}
    return table.assign(
        under_paper="holds",
        under_released="not run",
        under_printed="",
        group=table["kind"].map({"number": "WTA", "claim": ""}),
        class_=table["verdict"].map(classes).fillna(""),
    )


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    """Contents of a small page: a figure, a table, some verdicts; no predictions."""
    record = {"revision": "a" * 40, "made": "2026-01-02T03:04:05+00:00", "processor": "P"}
    facts = {"tiers": {"synthetic": "full", "uci": "full"}, "headline": "paper"}
    write_table(tmp_path / "verdicts.parquet", verdicts(), {**facts, "provenance": record})
    difference = {
        "id": "selected_weights",
        "study": "synthetic",
        "text": "a",
        "code": "b",
        "here": "c",
    }
    difference |= {"effect_on": "NLL", "state": "measured", "alone": True, "cases": 2}
    difference |= {"mean": -0.5, "lowest": -1.0, "highest": 0.0, "matters": "figure 3"}
    register = pd.DataFrame([difference], columns=list(DIFFERENCES))
    register.to_csv(tmp_path / "differences.csv", index=False)
    claim = {"id": "holds", "study": "uci", "says": "all <is> well", "tolerance": "by 0.1"}
    claim |= {"halved": "mixed", "stated": "holds", "doubled": "holds", "judged": 2}
    claim |= {"halved_held": 1, "stated_held": 2, "doubled_held": 2}
    pd.DataFrame([claim]).to_csv(tmp_path / "tolerances.csv", index=False)
    (tmp_path / "README.md").write_text(
        "## What we found\n\n* **A** [b](c.md)\n  `d`.\n\n## Speed\n"
    )
    rows = [{"protocol": "paper", "dataset": "boston", "metric": "nll", "value": 2.5, "n": 9}]
    metrics = tmp_path / "uci" / "metrics" / "evaluation.parquet"
    part = {"provenance": {**record, "code": "c0de", "trainings": []}}
    write_parts(metrics, {"results/full/uci/paper/boston.parquet": (tidy(rows, study="uci"), part)})
    figure, _ = plt.subplots()
    figure.savefig(tmp_path / "uci_nll_paper.png")
    plt.close(figure)
    table = (
        "**UCI: a table**\n\n| Set | NLL |\n| --- | --- |\n| A | **1** |\n|  | 3 |\n\nA <note>.\n"
    )
    (tmp_path / "uci_main_paper.md").write_text(table)
    (tmp_path / "uci_main_paper.csv").write_text("set,nll\nA,1\n")
    about = {"path": str(tmp_path / "uci_nll_paper.png"), "title": "NLL", "caption": "A & B."}
    about |= {"rule": "figure_uci", "inputs": ["results/full/uci/metrics/evaluation.parquet"]}
    about |= {"target": "results/full/figures/uci_nll_paper.png"}
    return gather(
        verdicts=tmp_path / "verdicts.parquet",
        differences=tmp_path / "differences.csv",
        tolerances=tmp_path / "tolerances.csv",
        readme=tmp_path / "README.md",
        metrics=[metrics],
        figures=[about],
        tables=[tmp_path / "uci_main_paper.md"],
        citation=ROOT / "CITATION.cff",
    )
