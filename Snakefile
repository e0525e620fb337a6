# Reproduces the paper. `snakemake` runs config/config.yaml, the whole of it at full scale; a tier is
# laid over it with `--configfile config/quick.yaml`. Any file below results/ can be asked for by name.

from snakemake.utils import min_version

min_version("9.27")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/synthetic.smk"
include: "workflow/rules/theory.smk"
include: "workflow/rules/uci.smk"
include: "workflow/rules/audio.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/verdicts.smk"
include: "workflow/rules/page.smk"
include: "workflow/rules/publish.smk"


rule all:
    """Everything that the configuration asks for (default)."""
    default_target: True
    input:
        final_outputs(),


complete(workflow, ROOT, environment="envs/cpu.yaml")
