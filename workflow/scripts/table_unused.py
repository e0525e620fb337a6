"""Writes how many hypotheses of trained networks are unused."""

from pathlib import Path

from vwta.io.storage import read_table
from vwta.paper.synthetic.tables import unused_hypotheses
from vwta.paper.tables import write
from vwta.workflow.job import job
from vwta.workflow.tolerance import tolerated

WORDS = """**Unused hypotheses.** `dead`: hypotheses that win no point of an input, on average over
the inputs; `never_wins`: those that win no point of any input. Means over the seeds. A component of
an MDN is unused where its weight is negligible."""

with job(snakemake), tolerated(snakemake.output):
    table = unused_hypotheses(read_table(Path(snakemake.input[0])), snakemake.params.protocols)
    write(table, Path(snakemake.output.csv), Path(snakemake.output.markdown), WORDS)
