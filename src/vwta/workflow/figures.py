"""The table of figures: the function that draws each, its files, and its caption.

Snakemake's rules and the script `figure.py` read this table. A figure names its function as
`module:function`, so that the digest of its code covers that module and nothing of the others.
"""

from __future__ import annotations

__all__ = [
    "Figure",
    "Printed",
    "audio_figures",
    "inputs",
    "scene_figures",
    "synthetic_figures",
    "uci_figures",
]

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from vwta.paper.estimators import ESTIMATORS
from vwta.paper.methods import PROPOSED
from vwta.workflow.audio import AudioStudy
from vwta.workflow.synthetic import SyntheticStudy
from vwta.workflow.uci import COMPARED, UCIStudy

FIGURES = "vwta.paper.figures"
PICTURED = ESTIMATORS[PROPOSED].network  # the network whose predictions are drawn alone
PLACE = re.compile(r"{{ *snakemake\.(?:wildcards|params)\.(\w+) *}}")
Files = str | list[str]


class Figure(NamedTuple):
    """A figure as rules see it: what draws it, from which files, and what stands below it.

    Arguments:
        draw: the function that draws it, as `module:function`.
        title: its name for people.
        caption: its caption, a file of workflow/report without the suffix.
        inputs: files, by the function's arguments.
        settings: the function's other arguments.
        made: arguments that are objects: the function that makes each, and the arguments of that.
        labels: what tells it from others of its kind.
        values: what its caption shows.
        category: the part of the report that it belongs to.
    """

    draw: str
    title: str
    caption: str
    inputs: Mapping[str, Files]
    settings: Mapping[str, Any] = {}
    made: Mapping[str, tuple[str, Mapping[str, Any]]] = {}
    labels: Mapping[str, Any] = {}
    values: Mapping[str, Any] = {}
    category: str = "Synthetic study"

    @property
    def modules(self) -> list[str]:
        """The modules that its functions are in."""
        places = [self.draw, *(place for place, _ in self.made.values())]
        return sorted({place.partition(":")[0] for place in places})

    @property
    def files(self) -> list[str]:
        """All files that it is drawn from."""
        own = ([one] if isinstance(one, str) else one for one in self.inputs.values())
        return [file for files in own for file in files]

    @property
    def all_labels(self) -> dict[str, str]:
        """Its labels in the report, with its title."""
        return {"figure": self.title, **{key: str(value) for key, value in self.labels.items()}}

    def text(self, folder: Path) -> str:
        """Its caption, in which values stand for what Snakemake would put there.

        Arguments:
            folder: that of the captions.
        """
        text = (folder / f"{self.caption}.rst").read_text(encoding="utf-8")
        values = {**self.labels, **self.values}

        def value(match: re.Match[str]) -> str:
            if match[1] not in values:
                have = sorted(values)
                raise KeyError(f"a caption asks for {match[1]!r}, but there are only {have}")
            return str(values[match[1]])

        return " ".join(PLACE.sub(value, text).split())

    @property
    def drawing(self) -> dict[str, Any]:
        """How to draw it, for a script that is given its files."""
        parts = {"inputs": list(self.inputs), "settings": self.settings, "made": self.made}
        return {"draw": self.draw, **parts}


class Printed(NamedTuple):
    """The paper's own numbers in figures of a study.

    Attributes:
        file: csv of these numbers.
        measured_as: for each protocol, metrics of ours by metrics of the paper.
    """

    file: str
    measured_as: Mapping[str, Mapping[str, str]]

    def settings(self, protocol: str) -> dict[str, Any]:
        """The settings of a protocol's figure that they concern."""
        return {"protocol": protocol, "measured_as": dict(self.measured_as.get(protocol, {}))}


def inputs(figures: Mapping[str, Figure]) -> dict[str, Files]:
    """The input files of a rule that draws several figures, by the names of arguments.

    The names must mean the same in all figures.
    """
    return {name: files for one in figures.values() for name, files in one.inputs.items()}


def synthetic_figures(
    study: SyntheticStudy,
    chosen: Mapping[str, Any],
    table: str,
    predictions: str,
    printed: Printed,
) -> dict[str, Figure]:
    """The figures of the synthetic study for rules, by the names of their files.

    Arguments:
        study: the study.
        chosen: the section `figures` of the configuration.
        table: pattern of the files of metrics, with the wildcard `table`.
        predictions: pattern of the files of predictions, with those of a network.
        printed: the paper's own numbers.
    """
    tables = {name: table.format(table=name) for name in ("evaluation", "emd", "theory", "curves")}
    found: dict[str, Figure] = {}
    common = {"otherwise": study["headline"], "datasets": study["datasets"]}
    for protocol in chosen["nll_against_h"]["protocols"]:
        for K in chosen["nll_against_h"]["K"]:
            found[f"nll_against_h_{protocol}_K{K}"] = Figure(
                f"{FIGURES}.nll_against_h:nll_against_h",
                "NLL against h",
                "nll_against_h",
                {"metrics": tables["evaluation"], "reported": printed.file},
                {**common, **printed.settings(protocol), "K": K},
                labels={"protocol": protocol, "K": K},
            )
    for K in chosen["training_curves"]["K"]:
        shown = {"protocol": study["headline"], "datasets": study["datasets"]}
        found[f"training_curves_K{K}"] = Figure(
            f"{FIGURES}.training_curves:training_curves",
            "training curves",
            "training_curves",
            {"curves": tables["curves"]},
            {**shown, "models": study["models"], "K": K},
            labels={"K": K},
        )
    for protocol, counts in study.local_figures().items():
        for K in counts:
            found[f"nll_against_factor_{protocol}_K{K}"] = Figure(
                f"{FIGURES}.nll_against_factor:nll_against_factor",
                "NLL against a factor on bandwidths",
                "nll_against_factor",
                {"metrics": tables["evaluation"]},
                {
                    "protocol": protocol,
                    "beside": study.beside(protocol),
                    "datasets": study.scope(protocol)["datasets"],
                    "K": K,
                },
                labels={"protocol": protocol, "K": K},
            )
    against_K = _against_K(study, chosen, tables, printed)
    return (
        found
        | against_K
        | _of_theory(study, chosen, table)
        | _of_predictions(study, chosen, predictions)
    )


def _against_K(
    study: SyntheticStudy, chosen: Mapping[str, Any], tables: Mapping[str, str], printed: Printed
) -> dict[str, Figure]:
    """Figures against the number K of hypotheses."""
    found = {}
    metrics: dict[str, Files] = {
        "metrics": [tables[name] for name in ("evaluation", "emd", "theory")],
        "reported": printed.file,
    }
    names, tuning = chosen["quantitative"]["datasets"], study["evaluation"]["tuning"]
    common = {"otherwise": study["headline"], "models": study["models"], "K": study["K"]}

    def quantitative(title: str, about: str, protocol: str, h: Any, band: str) -> Figure:
        shown = {"h": {name: h[name] for name in names}, "band": band}
        shown |= printed.settings(protocol)
        labels = {"protocol": protocol}
        place = f"{FIGURES}.against_K:quantitative"
        return Figure(place, title, about, metrics, {**common, **shown}, labels=labels)

    for protocol in chosen["quantitative"]["protocols"]:
        found[f"quantitative_{protocol}"] = quantitative(
            "Metrics against K", "quantitative", protocol, study["emd"]["h"], "range"
        )
        found[f"tuned_{protocol}"] = Figure(
            f"{FIGURES}.against_K:tuned",
            "NLL at tuned bandwidths",
            "tuned",
            {"metrics": tables["evaluation"]},
            {
                **common,
                "protocol": protocol,
                "methods": tuning["methods"],
                "datasets": study["datasets"],
            },
            labels={"protocol": protocol},
            values={"low": tuning["low"], "high": tuning["high"]},
        )
        found[f"quantitative_std_{protocol}"] = quantitative(
            "Metrics against K, standard deviations",
            "quantitative_std",
            protocol,
            chosen["quantitative_std"]["h"],
            "deviation",
        )
    return found


def _of_theory(study: SyntheticStudy, chosen: Mapping[str, Any], table: str) -> dict[str, Figure]:
    """Figures of measured properties: what theory says of optimal networks."""
    metrics: dict[str, Files] = {"metrics": table.format(table="properties")}
    variants = chosen["variants"]
    shown = {name: variants[name] for name in ("protocols", "datasets")}
    place = f"{FIGURES}.variants:variants"
    settings = {**shown, "counts": variants["K"]}
    found = {"variants": Figure(place, "Variants of WTA", "variants", metrics, settings)}
    settings = {"protocols": chosen["properties"]["protocols"], "datasets": study["datasets"]}
    for name, title in (
        ("weak_convergence", "Weak convergence"),
        ("cells", "Cells"),
        ("point_density", "Where atoms lie"),
    ):
        found[name] = Figure(f"{FIGURES}.theory:{name}", title, name, metrics, settings)
    return found


def _of_predictions(
    study: SyntheticStudy, chosen: Mapping[str, Any], predictions: str
) -> dict[str, Figure]:
    """Figures of single predictions, from stored atoms. They show the first seed."""
    box = {"domain": ("vwta.geometry.spaces:Box", study["domain"])}
    found = {}

    def files(
        protocol: str, datasets: list[str], models: list[str], counts: list[int]
    ) -> list[str]:
        return [
            predictions.format(
                protocol=protocol, dataset=dataset, model=model, K=K, seed=study["seeds"][0]
            )
            for dataset in datasets
            for model in models
            for K in counts
        ]

    limits, shown = chosen["dirac_limits"], chosen["qualitative"]
    for protocol in limits["protocols"]:
        (file,) = files(protocol, [limits["dataset"]], [PICTURED], [limits["K"]])
        found[f"dirac_limits_{protocol}"] = Figure(
            f"{FIGURES}.qualitative:dirac_limits",
            "Limits of Dirac mixtures",
            "dirac_limits",
            {"predictions": file},
            {"x": limits["x"]},
            box,
            {"protocol": protocol},
        )
    for protocol in shown["protocols"]:
        found[f"qualitative_{protocol}"] = Figure(
            f"{FIGURES}.qualitative:qualitative",
            "Predictions",
            "qualitative",
            {"predictions": files(protocol, shown["datasets"], study["models"], shown["K"])},
            {"x": shown["x"]},
            box,
            {"protocol": protocol},
            {"x": shown["x"]},
        )
    for name, title in (
        ("proof_radius", "Proof: radius of cells"),
        ("proof_partition", "Proof: cells of a set"),
    ):
        own = chosen[name]
        of = files(own["protocol"], [own["dataset"]], [PICTURED], own["K"])
        inputs, settings = {"predictions": of}, {"x": own["x"]}
        place, made = f"{FIGURES}.proofs:{name}", dict(box)
        if name == "proof_partition":
            made["chosen"] = ("vwta.paper.theory.convex_sets:region", _region(study, own["set"]))
        found[name] = Figure(place, title, name, inputs, settings, made)
    return found


def _region(study: SyntheticStudy, name: str) -> dict[str, Any]:
    """The set of a name whose probability is compared, without its name."""
    chosen = next(one for one in study["properties"]["sets"] if one["name"] == name)
    return {key: value for key, value in chosen.items() if key != "name"}


def uci_figures(study: UCIStudy, table: str, reported: str) -> dict[str, Figure]:
    """The figures of the UCI study for rules, by the names of their files.

    Arguments:
        study: the study.
        table: pattern of the files of metrics, with the wildcard `table`.
        reported: file of the printed numbers.
    """
    found = {}
    compared: dict[str, Files] = {"metrics": table.format(table="evaluation"), "reported": reported}
    searched: dict[str, Files] = {"search": table.format(table="searches")}

    def figure(draw: str, about: str, files: Mapping[str, Files], **shown: Any) -> Figure:
        place, labels = f"{FIGURES}.uci:{draw}", {"protocol": shown["protocol"]}
        return Figure(place, "", about, files, shown, labels=labels, category="UCI study")

    for protocol in study["protocols"]:
        shown = {"protocol": protocol, "datasets": study.sets(protocol)}
        for metric in COMPARED:
            name, about = f"uci_{metric}_{protocol}", "uci_comparison"
            found[name] = figure("comparison", about, compared, **shown, metric=metric)
        for method in study.searched(protocol):
            name, about = f"uci_search_{method}_{protocol}", "uci_search"
            found[name] = figure("bandwidth_search", about, searched, **shown, method=method)
    return found


def audio_figures(study: AudioStudy, table: str) -> dict[str, Figure]:
    """The figures of the audio study for rules that draw from metrics, by file names.

    Arguments:
        study: the study.
        table: pattern of the files of metrics, with the wildcard `table`.
    """
    found = {}
    metrics: dict[str, Files] = {"metrics": table.format(table="evaluation")}
    curves: dict[str, Files] = {"curves": table.format(table="curves")}
    for protocol in study.pictured:
        where, ending = {"protocol": protocol, "dataset": study.source}, study.endings[protocol]
        about: dict[str, Any] = {"labels": {"protocol": protocol}, "category": "Audio study"}
        for name, title in (
            ("nll_against_h", "NLL against h"),
            ("monte_carlo", "Error of estimated volumes"),
            ("dispersion", "Predicted and true dispersion"),
        ):
            place, caption = f"{FIGURES}.audio:{name}", f"audio_{name}"
            found[f"audio_{name}{ending}"] = Figure(place, title, caption, metrics, where, **about)
        if study.trainer(protocol) == protocol:
            scope = study.scope(protocol)
            found[f"audio_training_curves{ending}"] = Figure(
                f"{FIGURES}.training_curves:training_curves_by_K",
                "Training curves",
                "audio_training_curves",
                curves,
                {**where, "models": scope["models"], "counts": scope["K"]},
                **about,
            )
    return found


def scene_figures(study: AudioStudy, predictions: str) -> dict[str, Figure]:
    """The figures of predictions in scenes for rules, by file names. They show the first seed.

    Arguments:
        study: the study.
        predictions: pattern of the files of predictions in scenes, with the wildcards of a network.
    """
    found = {}
    for protocol in study.shown:
        seed, K = study.scope(protocol)["seeds"][0], study["predictions"]["K"]
        network = {"dataset": study.source, "model": PICTURED, "K": K, "seed": seed}
        file = predictions.format(protocol=protocol, **network)
        for name, title in (
            ("scenes", "Predictions"),
            ("scenes_on_sphere", "Predictions on the sphere"),
        ):
            found[f"audio_{name}{study.endings[protocol]}"] = Figure(
                f"{FIGURES}.audio_scenes:{name}",
                title,
                f"audio_{name}",
                {"predictions": file},
                labels={"protocol": protocol},
                category="Audio study",
            )
    return found
