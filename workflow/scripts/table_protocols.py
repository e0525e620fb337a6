"""Writes the numbers of several protocols side by side."""

from pathlib import Path

import pandas as pd

from vwta.io.storage import read_table
from vwta.paper.synthetic.tables import protocols_side_by_side
from vwta.paper.tables import write
from vwta.workflow.job import job
from vwta.workflow.tolerance import tolerated

WORDS = """**Protocols side by side.** Means over the seeds that all protocols of a row have
(`seeds`: how many), so that columns differ by protocol alone. `nll` is in nats, over the test
points in the domain; `nll_capped` is the published code's, over all points, each of which counts up
to a cap; `tuned` is at the bandwidth with the lowest validation NLL. `risk` is the mean squared
distance to the nearest atom, `emd` the earth mover's distance to the true law, `outside` the number
of test points outside the domain. `truth` is the true law."""

with job(snakemake), tolerated(snakemake.output):
    metrics = pd.concat([read_table(Path(path)) for path in snakemake.input])
    table = protocols_side_by_side(
        metrics, snakemake.params.protocols, against=snakemake.params.protocols[1:]
    )
    write(table, Path(snakemake.output.csv), Path(snakemake.output.markdown), WORDS)
