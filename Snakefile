# Reproduces the paper. `snakemake` runs config/config.yaml, the whole of it at full scale; a tier is
# laid over it with `--configfile config/quick.yaml`. Any file below results/ can be asked for by name.

from snakemake.utils import min_version

min_version("9.0")


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/fetch.smk"
include: "workflow/rules/synthetic.smk"
include: "workflow/rules/uci_common.smk"
include: "workflow/rules/uci.smk"
include: "workflow/rules/audio_common.smk"
include: "workflow/rules/audio_scenes.smk"
include: "workflow/rules/audio.smk"
include: "workflow/rules/theory.smk"
include: "workflow/rules/emd.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/against_K.smk"
include: "workflow/rules/qualitative.smk"
include: "workflow/rules/variants.smk"
include: "workflow/rules/properties.smk"
include: "workflow/rules/proofs.smk"
include: "workflow/rules/uci_tables.smk"
include: "workflow/rules/audio_figures.smk"
include: "workflow/rules/verdicts.smk"
include: "workflow/rules/explorer.smk"
include: "workflow/rules/page_common.smk"
include: "workflow/rules/page.smk"


rule all:
    default_target: True
    input:
        rules.synthetic.input,
        rules.figures.input,
        rules.tables.input,
        rules.uci.input,
        rules.uci_tables.input,
        rules.uci_figures.input,
        [] if AUDIO_ABSENT else rules.audio.input,
        [] if AUDIO_ABSENT else rules.audio_tables.input,
        [] if AUDIO_ABSENT else rules.audio_figures.input,
        rules.verdicts.input,
        rules.page.input,
