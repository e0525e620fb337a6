"""Modules that rules and scripts of the workflow import: the only place that knows Snakemake."""
