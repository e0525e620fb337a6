"""Classes of the paper's numbers: by which reading of the paper each one is obtained.

A number is obtained under a protocol that reproduces it. Of the protocols, `literal` follows every
sentence of the text, `paper` trains until convergence as the text says too, and `released` does
what the published code does, also where the text says otherwise: whether it draws samples from
another law, looks at test rows, or stops a solver early. A number that none of them reproduces,
but that is better than printed under `paper`, is not obtained: it has a class of its own.
"""

from __future__ import annotations

__all__ = ["BY_PROTOCOL", "CLASSES", "GROUPS", "NEITHER", "ONLY_BETTER", "class_of", "group_of"]

from collections.abc import Mapping

from vwta.paper.methods import METHODS, network_of

BY_PROTOCOL = {
    "literal": "from the text",
    "paper": "from the text, converged",
    "released": "by the published code only",
}
ONLY_BETTER, NEITHER, QUOTED = "better than printed only", "neither", "quoted"
CLASSES = (*BY_PROTOCOL.values(), ONLY_BETTER, NEITHER, QUOTED, "not comparable", "not run")
GROUPS = ("WTA", "baseline", "quoted baseline", "size of a data set")


def class_of(verdicts: Mapping[str, str]) -> str:
    """The class of a number.

    Arguments:
        verdicts: its verdict under each protocol; empty where it was not judged, as for sizes of
            data sets, which no protocol changes.

    Example:
        >>> class_of({"literal": "worse", "paper": "reproduced", "released": "not run"})
        'from the text, converged'
        >>> class_of({"literal": "worse", "paper": "better", "released": "reproduced"})
        'by the published code only'
        >>> class_of({"literal": "worse", "paper": "better", "released": "worse"})
        'better than printed only'
    """
    words = {protocol: verdicts.get(protocol) for protocol in BY_PROTOCOL}
    words["literal"] = words["literal"] or words["paper"]
    for protocol, name in BY_PROTOCOL.items():
        if words[protocol] == "reproduced":
            return name
    if words["paper"] == "better":
        return ONLY_BETTER
    if {"better", "worse"} & set(words.values()):
        return NEITHER
    return next(word for word in (QUOTED, "not comparable", "not run") if word in words.values())


def group_of(method: str) -> str:
    """Whose number it is: one of :data:`GROUPS`.

    Example:
        >>> group_of("k_wta"), group_of("unif_hist"), group_of("pbp"), group_of("data")
        ('WTA', 'baseline', 'quoted baseline', 'size of a data set')
    """
    if method == "data":
        return GROUPS[3]
    if METHODS[method].printed:
        return GROUPS[2]
    return GROUPS[0] if network_of(method) == "wta" else GROUPS[1]
