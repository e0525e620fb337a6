# Predictions over the whole range of inputs, for the page.

EXPLORER = STUDY["explorer"]


rule export_explorer:
    input:
        **{
            name: runs(
                STUDY,
                None,
                NETWORK.replace("{protocol}", trainer(name)),
                [name],
                seeds=STUDY["seeds"][:1],
            )
            for name in EXPLORER["protocols"]
        },
    output:
        f"{SYNTHETIC}/explorer.safetensors",
    log:
        f"{LOGS}/export_explorer.log",
    benchmark:
        f"{BENCHMARKS}/export_explorer.tsv"
    group:
        "synthetic_evaluation"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        kept_by={
            name: PROTOCOLS[name]["evaluation"]["kept_by"]
            for name in EXPLORER["protocols"]
        },
        constants={name: STUDY["constants"].get(name, {}) for name in STUDY["datasets"]},
        domain=STUDY["domain"],
        explorer={name: EXPLORER[name] for name in ("inputs", "targets", "seed")},
        code=digest("export_explorer.py"),
    script:
        "../scripts/export_explorer.py"
