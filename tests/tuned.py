"""Evaluations for tests: bandwidths are tuned, then metrics are measured, as two jobs do it."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from vwta.paper.metrics import MetricsFile
from vwta.paper.searches import SearchFile
from vwta.paper.synthetic import evaluate as synthetic
from vwta.paper.synthetic import tune as synthetic_tuning
from vwta.paper.synthetic.true_laws import Problem
from vwta.paper.uci import evaluate as uci
from vwta.paper.uci import tune as uci_tuning
from vwta.paper.uci.trained import Selection

TUNING = {"methods": ["v_wta", "k_wta", "tk_hist"], "low": 0.01, "high": 2.0, "tolerance": 0.01}


def evaluate_uci(
    networks: Mapping[str, Sequence[Path]],
    data: Path,
    metrics: Path,
    searches: Path,
    settings: uci_tuning.Settings,
    code: str,
    protocol: str,
    dataset: str,
    K: int,
) -> None:
    """Tunes and measures networks of the UCI study."""
    uci_tuning.tune(networks, data, settings, SearchFile(searches, protocol, dataset, code))
    chosen = {field.name: getattr(settings, field.name) for field in fields(Selection)}
    output = MetricsFile(metrics, "uci", protocol, dataset, code)
    uci.evaluate(networks, data, searches, uci.Settings(**chosen, level=0.9), output, K)


def evaluate_synthetic(
    networks: Sequence[Path],
    data: Path,
    law: Problem,
    settings: synthetic.Settings,
    output: MetricsFile,
) -> None:
    """Tunes and measures networks of the synthetic study."""
    searches = output.path.with_name(f"{output.path.stem}_searches.parquet")
    own = {name: getattr(settings, name) for name in ("low", "high", "selected_by")}
    tuning = synthetic_tuning.Settings({**TUNING, "methods": settings.tuned}, **own)
    place = SearchFile(searches, output.protocol, output.dataset, "code")
    synthetic_tuning.tune(networks, data, tuning, place)
    synthetic.evaluate(networks, data, searches, law, settings, output)
