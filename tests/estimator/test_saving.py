"""A saved model is the same model, in another process, and its file holds no code."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bimodal import two_modes
from safetensors import safe_open

from vwta import Box, VoronoiRegressor, load
from vwta.io.errors import BadWeights

X, Y = two_modes(50, seed=9)


@pytest.mark.parametrize("head", ["voronoi", "kernel", "mdn", "local", "continuous"])
def test_saved_model_is_the_same(
    models: dict[str, VoronoiRegressor], head: str, tmp_path: Path
) -> None:
    model = VoronoiRegressor(**models[head].get_params())
    model.__dict__.update(vars(models[head]))
    model.calibrate(X, Y)
    model.save(tmp_path / "m.vwta")
    again = load(tmp_path / "m.vwta")
    assert again.get_params() == model.get_params()
    law, same = model.predict_dist(X), again.predict_dist(X)
    np.testing.assert_array_equal(law.log_prob(Y), same.log_prob(Y))
    np.testing.assert_array_equal(law.sample(3, random_state=1), same.sample(3, random_state=1))
    np.testing.assert_array_equal(law.covers(Y), same.covers(Y))
    assert again.heads_ == model.heads_


def test_another_process_and_columns_of_all_kinds(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"kind": rng.choice(["a", "b"], 60), "size": rng.normal(size=60)})
    table.loc[3, "size"] = np.nan
    y = pd.DataFrame({"u": rng.normal(size=60), "v": rng.normal(size=60)})
    box = Box([-9.0, -9.0], [9.0, 9.0])
    model = VoronoiRegressor(3, head="voronoi", space=box, steps=20, random_state=0).fit(table, y)
    model.save(tmp_path / "m.vwta")
    table.to_pickle(tmp_path / "table.pickle")
    lines = [
        "import pandas, vwta, sys",
        "law = vwta.load('m.vwta').predict_dist(pandas.read_pickle('table.pickle'))",
        "print(law.targets.names, law.log_prob([[0.1, 0.2]] * 60).sum())",
    ]
    command = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    total = model.predict_dist(table).log_prob([[0.1, 0.2]] * 60).sum()
    assert done.stdout == f"['u', 'v'] {total}\n"


def test_parameters_of_numpy_as_grid_searches_give_them(tmp_path: Path) -> None:
    model = VoronoiRegressor(
        n_hypotheses=np.int64(3),
        head=np.str_("kernel"),
        members=np.arange(2, 3)[0],
        hidden=(np.int64(8),),
        steps=np.int32(5),
        learning_rate=np.float32(0.005),
        refit=np.False_,
        random_state=np.int64(7),
    )
    model.fit(X, Y).save(tmp_path / "m.vwta")
    again = load(tmp_path / "m.vwta")
    assert again.get_params() == model.get_params()
    assert type(again.n_hypotheses) is int
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_file_is_safetensors(models: dict[str, VoronoiRegressor], tmp_path: Path) -> None:
    models["mdn"].save(tmp_path / "m.vwta")
    with safe_open(tmp_path / "m.vwta", framework="pt") as file:
        assert all(name.startswith("member0.") for name in file.keys())  # noqa: SIM118


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "is not a model of vwta"), (b"PK\x03\x04" * 99, "is not a model of vwta")],
)
def test_damaged_file(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.vwta").write_bytes(content)
    with pytest.raises(BadWeights, match=message):
        load(tmp_path / "m.vwta")


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such file\. Remedy: check the path"):
        load(tmp_path / "nothing.vwta")
