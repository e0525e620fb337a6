"""The tables of the audio study: the paper's layout, ours beside printed, in three formats."""

import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from loading import ROOT

from vwta.paper.audio.notes import PRINTED_SIZES
from vwta.paper.audio.tables import TABLES, write_tables
from vwta.paper.metrics import tidy
from vwta.paper.tables import SUFFIXES

REPORTED = ROOT / "config/reported/audio.csv"
INTERVAL = (0.01, 2.0)


def row(method: str, value: float, K: int | None = 9, **columns: Any) -> dict[str, Any]:
    return {"method": method, "value": value, "K": K, "metric": "nll", "seed": 1, **columns}


def metrics(K: int = 9) -> list[dict[str, Any]]:
    """Numbers made up for one K and two bandwidths."""
    rows = [
        row("v_wta", 1.25, K, h=0.3),
        row("v_wta", 1.5, K, h=1.0),
        row("k_wta", 1.375, K, h=0.3),
        row("k_wta", 2.0, K, h=1.0),
        row("v_wta", 1.125, K, h=0.25, tuned=True),
        row("k_wta", 1.1875, K, h=0.125, tuned=True),
        row("tk_hist", 1.625, K, h=2.0, tuned=True),
        row("unif_v_wta", 1.5625, K),
        row("unif_hist", 1.75, K),
        row("m_vmf", 1.0625, K),
    ]
    risks = {"wta": 0.128, "hist": 0.4, "m_vmf": 0.192}
    return rows + [row(method, value, K, metric="risk") for method, value in risks.items()]


def write(
    folder: Path,
    rows: list[dict[str, Any]],
    dataset: str = "ansyn",
    protocol: str = "paper",
    ending: str = "",
    sizes: dict[str, int] = PRINTED_SIZES,
) -> None:
    every = [*rows, row("truth", 0.9375, None)]
    common = {"study": "audio", "protocol": "paper", "dataset": dataset, "n": 100}
    table = tidy([{**common, **one} for one in every])
    reported = pd.read_csv(REPORTED)
    write_tables(table, reported, folder, protocol, dataset, INTERVAL, sizes, ending)


def lines(path: Path) -> list[list[str]]:
    """Cells of a table in markdown."""
    rows = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]


def cells(path: Path) -> dict[tuple[str, str], dict[str, str]]:
    """Text of a table's cells, by method and line, then by heading."""
    head, _, *rows = lines(path)
    found, method = {}, ""
    for line in rows:
        method = line[0] or method
        found[method, line[1]] = dict(zip(head[2:], line[2:], strict=True))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder with tables of K = 9 and two bandwidths."""
    write(tmp_path, metrics())
    return tmp_path


def test_every_table_is_there_in_three_formats(folder: Path) -> None:
    expected = {f"audio_{name}{suffix}" for name in TABLES for suffix in SUFFIXES}
    assert {path.name for path in folder.iterdir()} == expected
    write(folder / "other", metrics(), ending="_released")
    names = {path.name for path in (folder / "other").iterdir()}
    assert names == {name.replace(".", "_released.") for name in expected}


def test_the_main_table_has_the_papers_layout(folder: Path) -> None:
    head, _, *rows = lines(folder / "audio_main.md")
    nll = [f"NLL (h = {h}) K = {K}" for h in ("0.3", "0.5", "1") for K in (9, 16, 25)]
    scales = ("printed scale", "rad²")
    distortion = [f"Distortion, {scale} K = {K}" for scale in scales for K in (9, 16, 25)]
    assert head == ["Method", "", *nll, *distortion]
    each = ["printed", "ours", "difference"]
    assert [line[1] for line in rows] == 3 * each
    assert [line[0] for line in rows] == ["V-WTA", "", "", "K-WTA", "", "", "Hist", "", ""]


def test_numbers_stand_in_their_cells(folder: Path) -> None:
    found = cells(folder / "audio_main.md")
    at = "NLL (h = 0.3) K = 9"
    assert found["V-WTA", "printed"][at] == "1.27"
    assert found["K-WTA", "printed"][at] == "**1.26**"
    assert found["V-WTA", "ours"][at] == "**1.25**"
    assert found["V-WTA", "difference"][at] == "-0.02"
    assert found["K-WTA", "ours"]["NLL (h = 1) K = 9"] == "2.00"
    assert found["K-WTA", "difference"]["NLL (h = 1) K = 9"] == "-0.08"
    for h in ("0.3", "0.5", "1"):  # a histogram with uniform kernels has no bandwidth
        assert found["Hist", "ours"][f"NLL (h = {h}) K = 9"] == "1.75"
        assert found["Hist", "difference"][f"NLL (h = {h}) K = 9"] == "+0.03"
    assert found["Hist", "printed"]["NLL (h = 0.5) K = 16"] == "1.52"


def test_distortions_have_the_printed_scale_and_radians(folder: Path) -> None:
    for name in ("main", "quantisation"):
        found = cells(folder / f"audio_{name}.md")
        scale, square = "Distortion, printed scale K = 9", "Distortion, rad² K = 9"
        for method in ("V-WTA", "K-WTA"):  # the same atoms
            assert found[method, "printed"][scale] == "**0.42**"
            assert found[method, "ours"][scale] == "**0.54**"  # 100 * 0.128 / 23.9
            assert found[method, "difference"][scale] == "+0.12"
            assert found[method, "ours"][square] == "**0.128**"
            assert found[method, "printed"][square] == ""
        assert found["Hist", "ours"][scale] == "1.67"
        assert "100 × rad² / 23.9" in (folder / f"audio_{name}.md").read_text()
    assert found["M-vMF", "ours"][scale] == "0.80"
    assert found["M-vMF", "printed"]["Distortion, printed scale K = 20"] == "0.34"


def test_tuned_bandwidths_stand_beside_methods_without_any(folder: Path) -> None:
    found = cells(folder / "audio_tuned.md")
    assert found["V-WTA", "ours"]["h K = 9"] == "0.250"
    assert found["V-WTA", "ours"]["NLL K = 9"] == "1.12"
    assert found["TK-Hist", "ours"]["h K = 9"] == "2.000"
    assert found["Unif. V-WTA", "ours"]["h K = 9"] == ""
    assert found["M-vMF", "ours"]["NLL K = 9"] == "**1.06**"
    assert found["True law", "ours"]["NLL K = 9"] == "0.94"
    assert found["Unif. Hist", "printed"]["NLL K = 9"] == "1.72"
    assert found["Unif. Hist", "difference"]["NLL K = 9"] == "+0.03"
    assert ("V-WTA", "printed") not in found
    text = (folder / "audio_tuned.md").read_text()
    assert "searched between 0.01 and 2;" in text
    assert "log 4π = 2.53" in text


def test_what_was_not_run_is_said_and_never_filled_in(folder: Path) -> None:
    found = cells(folder / "audio_main.md")
    for at in ("NLL (h = 0.5) K = 9", "NLL (h = 0.3) K = 16", "Distortion, rad² K = 25"):
        assert found["V-WTA", "ours"][at] == "not run"
        assert found["V-WTA", "difference"][at] == ""
    assert found["Hist", "ours"]["NLL (h = 0.3) K = 16"] == "not run"
    tuned = cells(folder / "audio_tuned.md")
    assert tuned["V-WTA", "ours"]["h K = 20"] == "not run"
    table = pd.read_csv(folder / "audio_main.csv")
    lacking = table[table["missing"] == "not run"]
    assert len(lacking)
    assert lacking[["mean", "difference"]].isna().all(axis=None)
    assert (lacking["seeds"] == 0).all()


def test_a_column_that_is_not_complete_has_no_winner(folder: Path) -> None:
    found = cells(folder / "audio_main.md")
    assert found["Hist", "ours"]["NLL (h = 0.5) K = 9"] == "1.75"  # the others were not run
    assert found["V-WTA", "ours"]["NLL (h = 1) K = 9"] == "**1.50**"


def test_another_number_of_hypotheses_has_its_columns(tmp_path: Path) -> None:
    write(tmp_path, metrics(49))
    head = lines(tmp_path / "audio_quantisation.md")[0]
    assert [name for name in head if name.endswith("K = 49")] == [
        "Distortion, printed scale K = 49",
        "Distortion, rad² K = 49",
    ]
    found = cells(tmp_path / "audio_quantisation.md")
    assert found["V-WTA", "ours"]["Distortion, rad² K = 49"] == "**0.128**"
    assert found["V-WTA", "printed"]["Distortion, printed scale K = 49"] == ""
    assert not any("49" in name for name in lines(tmp_path / "audio_main.md")[0])


def test_seeds_are_averaged(tmp_path: Path) -> None:
    second = [{**one, "seed": 2, "value": one["value"] + 0.5} for one in metrics()]
    write(tmp_path, [*metrics(), *second])
    found = cells(tmp_path / "audio_main.md")
    assert found["V-WTA", "ours"]["NLL (h = 0.3) K = 9"] == "**1.50 ± 0.35**"
    assert found["V-WTA", "difference"]["NLL (h = 0.3) K = 9"] == "+0.23"
    assert "±: standard deviation over 2 seeds" in (tmp_path / "audio_main.md").read_text()
    table = pd.read_csv(tmp_path / "audio_main.csv")
    mine = table[(table["method"] == "v_wta") & (table["h"] == 0.3) & (table["K"] == 9)].iloc[0]
    assert mine["mean"] == 1.5
    assert mine["std"] == pytest.approx(math.sqrt(0.125), rel=1e-14)
    assert mine["difference"] == pytest.approx(0.23)


@pytest.mark.parametrize(("value", "text"), [(math.inf, "∞"), (math.nan, "--")])
def test_numbers_that_are_not_finite_are_told(tmp_path: Path, value: float, text: str) -> None:
    """A seed that failed must not vanish in a mean."""
    rows = [one for one in metrics() if one["method"] != "m_vmf"]
    write(tmp_path, [*rows, row("m_vmf", 1.0), row("m_vmf", value, seed=2)])
    found = cells(tmp_path / "audio_tuned.md")
    assert found["M-vMF", "ours"]["NLL K = 9"] == text
    assert found["V-WTA", "ours"]["NLL K = 9"] == "**1.12**"
    assert "Not finite (∞, or -- if undefined): M-vMF, K = 9." in (
        tmp_path / "audio_tuned.md"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("dataset", "how"), [("resynthesis", "re-synthesised"), ("synthetic", "synthesised")]
)
def test_other_scenes_are_not_taken_for_the_papers(
    tmp_path: Path, folder: Path, dataset: str, how: str
) -> None:
    write(tmp_path / "made", metrics(), dataset)
    for name in TABLES:
        text = (tmp_path / "made" / f"audio_{name}.md").read_text(encoding="utf-8")
        assert f"Scenes were {how} from" in text
        assert "not comparable one to one" in text
        assert "Scenes were" not in (folder / f"audio_{name}.md").read_text(encoding="utf-8")


def test_the_csv_has_every_digit_and_each_cell_once(folder: Path) -> None:
    table = pd.read_csv(folder / "audio_main.csv")
    keys = ["metric", "method", "K", "h"]
    assert not table.duplicated([*keys, "line", "column"]).any()
    mine = table.set_index(keys).sort_index()
    hist = table[(table["method"] == "unif_hist") & (table["K"] == 9)]
    assert hist[["mean", "printed"]].to_numpy().tolist() == 3 * [[1.75, 1.72]]  # for each h
    assert mine.loc[("nll", "v_wta", 9, 0.3), "difference"].item() == pytest.approx(-0.02)
    assert set(table["protocol"]) == {"paper"}
    assert set(table["dataset"]) == {"ansyn"}
    tuned = pd.read_csv(folder / "audio_tuned.csv").set_index(["metric", "method", "K"])
    assert tuned.loc[("h", "k_wta", 9), "mean"] == 0.125
    assert tuned.loc[("nll", "k_wta", 9), "mean"] == 1.1875


def test_all_printed_numbers_are_shown(folder: Path) -> None:
    """None of the paper's numbers is lost on the way."""
    reported = pd.read_csv(REPORTED)
    tables = [pd.read_csv(path) for path in folder.glob("*.csv")]
    shown = pd.concat(tables).dropna(subset="printed")
    keys = ["metric", "method", "h", "K"]
    found = shown.drop_duplicates(keys).merge(reported, on=keys)
    assert len(found) == len(reported)
    assert (found["printed"] == found["value"]).all()


def test_latex_is_sound(folder: Path) -> None:
    for path in folder.glob("*.tex"):
        text = path.read_text(encoding="utf-8")
        assert text.isascii()
        assert text.count("{") == text.count("}")
        found = re.search(r"\\begin\{tabular\}\{([lc]+)\}\n(.*)\\end\{tabular\}", text, re.DOTALL)
        assert found is not None
        columns, body = found.groups()
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert len(rows) > 2
        for line in rows:
            spans = [int(span) for span in re.findall(r"\\multicolumn\{(\d+)\}", line)]
            assert line.count("&") + 1 + sum(spans) - len(spans) == len(columns)
            assert line.count("$") % 2 == 0
        assert "**" not in text
    main = (folder / "audio_main.tex").read_text()
    assert r"\multicolumn{3}{c}{NLL (h = 0.3)} & \multicolumn{3}{c}{NLL (h = 0.5)}" in main
    assert r"\multicolumn{3}{c}{Distortion, rad$^2$}" in main
    assert "Method &  & K = 9 & K = 16 & K = 25 & K = 9" in main


def test_a_protocol_without_rows_is_named(tmp_path: Path) -> None:
    message = "no metrics of protocol released on ansyn: there are paper, ansyn"
    with pytest.raises(ValueError, match=message):
        write(tmp_path, metrics(), protocol="released")
    assert not list(tmp_path.iterdir())


def test_a_number_that_is_there_twice_is_named(tmp_path: Path) -> None:
    rows = [*metrics(), row("v_wta", 1.0, h=0.3)]
    with pytest.raises(ValueError, match=r"two rows for metric nll, method v_wta, K = 9, h = 0\.3"):
        write(tmp_path, rows)


def test_our_own_lines_are_there_if_they_were_run(tmp_path: Path) -> None:
    """Local kernels compete, a perfect learner does not; without them nothing is bold for less."""
    write(tmp_path, metrics())
    plain = cells(tmp_path / "audio_tuned.md")
    assert not any("local" in name or "perfect" in name for name, _ in plain)
    more = [
        row("local_v_wta", 1.03125, h=0.75, tuned=True),
        row("local_v_wta", 1.25),
        row("v_lloyd", 0.96875, h=0.25, tuned=True, seed=None),
        row("best_m_vmf", 0.953125, seed=None),
    ]
    write(tmp_path, [*metrics(), *more])
    found = cells(tmp_path / "audio_tuned.md")
    assert found["V-WTA, local kernels", "ours"]["NLL K = 9"] == "**1.03**"
    assert found["V-WTA, local kernels", "ours"]["h K = 9"] == "0.750"
    assert found["V-WTA, perfect learner", "ours"]["NLL K = 9"] == "0.97"
    assert found["M-vMF, perfect learner", "ours"]["NLL K = 9"] == "0.95"
    assert found["M-vMF, perfect learner", "ours"]["h K = 9"] == ""
    assert ("K-WTA, perfect learner", "ours") not in found
    assert "Lloyd's algorithm" in (tmp_path / "audio_tuned.md").read_text(encoding="utf-8")


def test_the_published_denominator_has_a_line_under_released(tmp_path: Path) -> None:
    """It is no rival of the other lines, and other protocols do not have it."""
    name = "M-vMF, over all places"
    both = [row("m_vmf", 1.125), row("m_vmf", 0.75, metric="nll_all_places")]
    write(tmp_path, [{**one, "protocol": "released"} for one in both], protocol="released")
    found = cells(tmp_path / "audio_tuned.md")
    assert found["M-vMF", "ours"]["NLL K = 9"] == "1.12"
    assert found[name, "ours"]["NLL K = 9"] == "0.75"
    assert found[name, "ours"]["NLL K = 16"] == "not run"
    assert "taken or not" in (tmp_path / "audio_tuned.md").read_text(encoding="utf-8")
    write(tmp_path / "paper", [*metrics(), both[1]])
    assert (name, "ours") not in cells(tmp_path / "paper/audio_tuned.md")
    write(tmp_path / "without", [{**both[0], "protocol": "released"}], protocol="released")
    assert (name, "ours") not in cells(tmp_path / "without/audio_tuned.md")


def test_sizes_that_are_not_the_papers_are_told(tmp_path: Path, folder: Path) -> None:
    write(tmp_path / "small", metrics(), sizes={**PRINTED_SIZES, "bands": 64, "width": 32})
    for name in TABLES:
        text = (tmp_path / "small" / f"audio_{name}.md").read_text(encoding="utf-8")
        assert (
            "Networks are not of the paper's size: frequency bands 64 in place of 1024, width of a "
            "recurrent layer 32 in place of 128."
        ) in text
        assert "size" not in (folder / f"audio_{name}.md").read_text(encoding="utf-8")


def test_the_papers_sizes_are_those_of_the_full_tier() -> None:
    audio = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))["audio"]
    there = {**audio["training"]["trunk"], "bands": audio["features"]["bands"]}
    assert {name: there[name] for name in PRINTED_SIZES} == PRINTED_SIZES
