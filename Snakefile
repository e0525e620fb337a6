# The workflow is in workflow/Snakefile, where Snakemake's catalog expects it. This file is for those who call `snakemake`
# at the top of a clone; both are the same workflow.


include: "workflow/Snakefile"


# An included file cannot say which rule is the default.
workflow.default_target = workflow.modifier.modify_rulename("all")
