"""Writes the numbers of several protocols side by side."""

from pathlib import Path

import pandas as pd

from vwta.io.storage import read_table
from vwta.paper.synthetic.tables import local_kernels, protocols_side_by_side
from vwta.paper.tables import write
from vwta.workflow.job import job
from vwta.workflow.tolerance import tolerated

WORDS = """**Protocols side by side.** Means over the seeds that all protocols of a row have
(`seeds`: how many), so that columns differ by protocol alone. `nll` is in nats, over the test
points in the domain; `nll_capped` is the published code's, over all points, each of which counts up
to a cap; `tuned` is at the bandwidth with the lowest validation NLL. `risk` is the mean squared
distance to the nearest atom, `emd` the earth mover's distance to the true law, `outside` the number
of test points outside the domain. `truth` is the true law."""

LOCAL = """**Local kernels and others.** `local_v_wta` is V-WTA with local kernels, under
`protocol`; so are the others where it has run them, and else under the headline protocol. Means
over the seeds of the local kernels (`seeds`: how many), on the same test points. `nll` (2,000
points at full scale) and `nll_large` (100,000) are in nats, over the points in the domain, at the
bandwidth, or the factor on bandwidths and the temperature, with the lowest NLL of the validation
rows; `as trained` is without such a choice. `emd` is the earth mover's distance to the true law;
that of V-WTA and K-WTA is the lowest one of the bandwidths measured, which favours them.
`risk_large` is the mean squared distance to the nearest hypothesis: of V-WTA and K-WTA that of the
WTA network that they share. `truth` is the true law."""

with job(snakemake), tolerated(snakemake.output):
    metrics = pd.concat([read_table(Path(path)) for path in snakemake.input])
    table = protocols_side_by_side(
        metrics, snakemake.params.protocols, against=snakemake.params.protocols[1:]
    )
    write(table, Path(snakemake.output.csv), Path(snakemake.output.markdown), WORDS)
    table = local_kernels(metrics, snakemake.params.protocols[0])
    write(table, Path(snakemake.output.local_csv), Path(snakemake.output.local_markdown), LOCAL)
