"""From a csv file to predictions on the command line."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bimodal import two_modes

from vwta import __version__
from vwta.cli.main import main

FAST = ["--steps", "100", "--hypotheses", "4", "--head", "voronoi"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with texts, missing cells and a bimodal target, and a model of it."""
    folder = tmp_path_factory.mktemp("houses")
    X, y = two_modes(200, seed=0)
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "price": y})
    table["kind"] = np.where(X[:, 1] > 0, "house", "flat")
    table.loc[::10, "b"] = np.nan
    table.loc[5::20, "kind"] = None
    table.to_csv(folder / "houses.csv", index=False)
    assert main(["fit", str(folder / "houses.csv"), "--target", "price", *FAST,
                 "--calibrate", "0.2", "-o", str(folder / "m.vwta")]) == 0  # fmt: skip
    return folder


def test_fit_says_what_it_did(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(folder / "again.vwta")
    arguments = ["fit", str(folder / "houses.csv"), "--target", "price", "--target", "a", *FAST]
    assert main([*arguments, "--drop", "kind", "-o", model]) == 0
    text = capsys.readouterr().out
    assert "200 rows; inputs: 1 of numbers, 0 of texts" in text
    assert "head voronoi: " in text
    assert text.endswith(f"wrote {model}\n")


def test_predict(folder: Path) -> None:
    output = folder / "predicted.csv"
    arguments = ["predict", str(folder / "m.vwta"), str(folder / "houses.csv"), "-o", str(output)]
    assert main([*arguments, "--quantiles", "0.1,0.9"]) == 0
    found = pd.read_csv(output)
    assert list(found)[:5] == ["row", "price_mean", "price_std", "price_q0.1", "price_q0.9"]
    assert "scenario2_probability" in found
    odds = found.filter(regex="_probability").sum(axis=1)
    assert ((odds > 0.5) & (odds <= 1 + 1e-9)).all()
    y = pd.read_csv(folder / "houses.csv")["price"]
    covered = ((y > found["price_q0.1"]) & (y < found["price_q0.9"])).mean()
    assert 0.6 < covered <= 1


def test_from_a_table_to_scenarios_in_one_command(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, model, found, same = (
        str(folder / x) for x in ("houses.csv", "one.vwta", "a.csv", "b.csv")
    )
    fit = ["fit", table, "--target", "price", *FAST, "-o", model, "--predict"]
    assert main([*fit, table, found]) == 0
    assert capsys.readouterr().out.endswith(f"wrote 200 rows to {found}\n")
    assert main(["predict", model, table, "-o", same]) == 0
    assert Path(found).read_text() == Path(same).read_text()
    assert main([*fit, "nowhere.csv", found]) == 1
    assert "nowhere.csv: no such file. Remedy" in capsys.readouterr().err


def test_sample_into_another_kind_of_file(folder: Path) -> None:
    output = folder / "samples.parquet"
    arguments = ["sample", str(folder / "m.vwta"), str(folder / "houses.csv"), "-n", "3"]
    assert main([*arguments, "-o", str(output)]) == 0
    found = pd.read_parquet(output)
    assert list(found) == ["row", "sample", "price"]
    assert len(found) == 600
    assert found["row"].tolist()[:4] == [1, 1, 1, 2]


def test_diagnose(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = folder / "page.html"
    arguments = ["diagnose", str(folder / "m.vwta"), str(folder / "houses.csv"), "-o", str(page)]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "log-likelihood, Gaussian without inputs" in text
    assert text.endswith(f"wrote {page}\n")
    assert "Predictions of price" in page.read_text()


def test_every_row_has_its_line(folder: Path) -> None:
    table, output = folder / "few.csv", folder / "few_predicted.csv"
    table.write_text("id,a,b,kind\n01,0.1,,flat\n,,,\n03,0.5,0.2,house\n")
    assert main(["predict", str(folder / "m.vwta"), str(table), "--keep", "id", "-o",
                 str(output)]) == 0  # fmt: skip
    found = pd.read_csv(output, dtype={"id": str})
    assert found["row"].tolist() == [1, 2, 3]
    assert found["id"].tolist()[::2] == ["01", "03"]
    assert np.isfinite(found["price_mean"]).all()


@pytest.mark.filterwarnings("always::vwta.estimator.columns.DataWarning")
def test_warnings_do_not_show_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "far.csv").write_text("a,b,kind\n1e9,0,flat\n")
    assert main(["predict", str(folder / "m.vwta"), str(folder / "far.csv"), "-o",
                 str(folder / "far_predicted.csv")]) == 0  # fmt: skip
    assert capsys.readouterr().err.startswith("vwta: warning: X, column 'a', row 0 (counted from")


FIT = ["fit", "houses.csv", "--target", "a"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "m.vwta", "houses.csv", "-o", "houses.csv"], "houses.csv would be replaced"),
        (["sample", "m.vwta", "houses.csv", "-o", "./houses.csv"], "houses.csv would be replaced"),
        (["diagnose", "m.vwta", "houses.csv", "-o", "houses.csv"], "houses.csv would be replaced"),
        (["explore", "m.vwta", "-o", "m.vwta"], "m.vwta would be replaced. Remedy: name another"),
        ([*FIT, "--predict", "other.csv", "model.vwta.csv", "-o", "model.vwta.csv"], "be replaced"),
        ([*FIT, "-o", "."], ". is a folder. Remedy: name a file to write"),
        ([*FIT, "-o", "none/m.vwta"], "there is no folder none. Remedy: make it first"),
        ([*FIT, "-o", "/proc/m.vwta"], "nothing can be written to /proc ("),
        ([*FIT, "--seed", "-1"], "--seed -1. Remedy: give a whole number from 0"),
        ([*FIT, "--calibrate", "1"], "--calibrate 1.0. Remedy"),
        ([*FIT, "--delimiter", ";;"], "--delimiter ';;'. Remedy: give one sign"),
        ([*FIT, "--delimiter", ""], "--delimiter ''. Remedy: give one sign"),
        ([*FIT, "--predict", "new.csv", "out.csv"], "new.csv, line 1: there is no column 'price'"),
        (["sample", "m.vwta", "houses.csv", "-o", "o.csv", "--seed", "-1"], "--seed -1. Remedy"),
        (
            ["predict", "m.vwta", "houses.csv", "-o", "o.csv", "--keep", "idd"],
            "no column 'idd'; the columns are",
        ),
        (["fit", "houses.csv", "--target", "prize"], "no column 'prize' (did you mean 'price'?)"),
        (["fit", "houses.csv", "--target", "kind"], "line 2, column 'kind': '"),
        (["fit", "houses.csv", "--target", "b"], "line 2, column 'b': the target is missing; 20"),
        (["fit", "none.csv", "--target", "b"], "none.csv: no such file. Remedy"),
        (["predict", "houses.csv", "houses.csv", "-o", "out.csv"], "is not a model of vwta"),
        (["predict", "m.vwta", "new.csv", "-o", "out.csv"], "no column 'kind'"),
        (["predict", "m.vwta", "houses.csv", "-o", "out.doc"], "unknown kind of table"),
        (["diagnose", "m.vwta", "new.csv"], "no column 'kind'"),
        (["sample", "m.vwta", "houses.csv", "-n", "0", "-o", "out.csv"], "-n 0. Remedy"),
        (
            ["predict", "m.vwta", "houses.csv", "-o", "o.csv", "--scenarios", "2"],
            "min_mass 2.0. Remedy",
        ),
        (["fit", "houses.csv", "--target", "a", "--target", "a"], "'a' is given twice. Remedy"),
        (["fit", "houses.csv", "--target", "a", "-o", "./houses.csv"], "would be replaced. Remedy"),
        (
            ["fit", "houses.csv", "--target", "a", "--predict", "new.csv", "out.doc"],
            "out.doc: unknown kind of table. Remedy",
        ),
    ],
)
def test_message(
    folder: Path,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a model was fitted")

    monkeypatch.setattr("vwta.estimator.regressor.fit_heads", never)
    monkeypatch.chdir(folder)
    (folder / "new.csv").write_text("a,b\n1,2\n")
    (folder / "other.csv").write_text("b,price,kind\n1,2,flat\n")
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("vwta: ")
    assert message in error
    assert error.count("\n") == 1


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"vwta {__version__}\n"


def test_help_lists_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    for name in ("fit", "predict", "sample", "verdicts"):
        assert f"\n    {name} " in text
