"""Tables of the synthetic study: protocols side by side, and unused hypotheses."""

from __future__ import annotations

__all__ = ["local_kernels", "protocols_side_by_side", "unused_hypotheses"]

from collections.abc import Sequence

import pandas as pd

from vwta.paper.metrics import COLUMNS

KEYS = ["dataset", "metric", "method", "K", "h"]
LOCAL = "local_v_wta"
BESIDE = ["truth", "mdn", "k_wta", "v_wta", LOCAL]  # columns of the table of local kernels
RISK_OF = {"k_wta": "wta", "v_wta": "wta", LOCAL: "local"}  # networks whose risk is theirs


def protocols_side_by_side(
    metrics: pd.DataFrame, protocols: Sequence[str], against: Sequence[str]
) -> pd.DataFrame:
    """Numbers of the synthetic study under several protocols, one column each.

    Arguments:
        metrics: tidy table.
        protocols: the columns, in this order.
        against: protocols of which at least one must have a quantity for it to be listed.

    Returns:
        One row for each `dataset`, `metric`, `method`, `K` and `h`, and a column for each protocol
        with the mean over the seeds that all protocols of the row share, `seeds` in number; missing
        where a protocol has none at all. A quantity without a common seed is left out. Rows at a
        tuned bandwidth have no `h` and `tuned` in their metric's name.
    """
    rows = metrics[metrics["protocol"].isin(protocols)].copy()
    tuned = rows["tuned"]
    rows.loc[tuned, "metric"] += " tuned"
    rows.loc[tuned, "h"] = float("nan")
    rows["seed"] = rows["seed"].fillna(-1)  # of laws that have none
    means = rows.groupby([*KEYS, "seed", "protocol"], dropna=False)["value"].mean()
    values = means.unstack("protocol").reindex(columns=list(protocols))
    there = values.notna()
    somewhere = there.groupby(KEYS, dropna=False).transform("any")
    common = values[(there | ~somewhere).all(axis=1)].groupby(KEYS, dropna=False)
    table = common.mean()
    table.insert(0, "seeds", common.size())
    listed = table[table[list(against)].notna().any(axis=1)].reset_index()
    listed.columns.name = None
    return listed.astype({"K": COLUMNS["K"]})


def local_kernels(metrics: pd.DataFrame, headline: str) -> pd.DataFrame:
    """Numbers of local kernels beside those of the true law, MDN, K-WTA and V-WTA.

    Arguments:
        metrics: tidy table of the evaluation and of distances.
        headline: the protocol of the others where that of the local kernels has not run them.

    Returns:
        One row for each `protocol` of local kernels, `dataset`, `K` and `metric`, and a column for
        each method with the mean over seeds; `seeds` says how many the local kernels have.
    """
    own = metrics["method"].isin([LOCAL, "local"])
    rows = []
    for (protocol, dataset, K), mine in metrics[own].groupby(["protocol", "dataset", "K"]):
        beside = metrics[metrics["dataset"] == dataset]
        beside = beside[beside["K"].isna() | (beside["K"] == K)]
        beside = beside[beside["seed"].isna() | beside["seed"].isin(mine["seed"])]
        same, others = (beside[beside["protocol"] == name] for name in (protocol, headline))
        both = pd.concat([same, others[~others["method"].isin(same["method"])]])
        for metric in ("nll", "nll_large", "nll_large as trained", "emd", "risk_large"):
            values = {method: _one_number(both, method, metric) for method in BESIDE}
            if not pd.isna(values[LOCAL]):
                about = {"protocol": protocol, "dataset": dataset, "K": K, "metric": metric}
                same_metric = mine["metric"] == metric.removesuffix(" as trained")
                rows.append({**about, "seeds": mine.loc[same_metric, "seed"].nunique(), **values})
    columns = ["protocol", "dataset", "K", "metric", "seeds", *BESIDE]
    return pd.DataFrame(rows, columns=columns).astype({"K": COLUMNS["K"]})


def _one_number(rows: pd.DataFrame, method: str, metric: str) -> float:
    """Mean over seeds of a metric of :func:`local_kernels`; missing if there is none."""
    name, as_trained = metric.removesuffix(" as trained"), metric.endswith(" as trained")
    if name == "risk_large":
        method = RISK_OF.get(method, method)
    mine = rows[(rows["method"] == method) & (rows["metric"] == name)]
    if name.startswith("nll") and mine["tuned"].any() and not as_trained:
        return float(mine.loc[mine["tuned"], "value"].mean())
    if as_trained or method == LOCAL:  # at no factor
        return float(mine.loc[~mine["tuned"] & mine["h"].isna(), "value"].mean())
    return float(mine.groupby("h", dropna=False)["value"].mean().min())


def unused_hypotheses(properties: pd.DataFrame, protocols: Sequence[str]) -> pd.DataFrame:
    """How many hypotheses of the synthetic study's networks are unused, a column for each K.

    Arguments:
        properties: tidy table of :func:`vwta.paper.theory.evaluate.evaluate_properties`.
        protocols: whose networks to count, in this order.

    Returns:
        One row for each `protocol`, `dataset`, `model` and `count`: `dead` hypotheses win no point
        of an input, on average over the inputs; those that `never_wins` counts win no point of any
        input. All are means over the seeds.
    """
    rows = properties.rename(columns={"method": "model", "metric": "count"})
    rows = rows[rows["count"].isin(["dead", "never_wins"]) & rows["seed"].notna()]
    rows = rows[rows["protocol"].isin(protocols)]
    keys = ["protocol", "dataset", "model", "count"]
    means = rows.groupby([*keys, "K"])["value"].mean().unstack("K")
    means.columns = pd.Index([f"K = {K}" for K in means.columns])
    order = {name: place for place, name in enumerate(protocols)}
    return means.reset_index().sort_values(
        keys, key=lambda column: column.map(order) if column.name == "protocol" else column
    )
