# Two proofs of the paper in pictures, from kept atoms.


rule figure_proof_radius:
    input:
        expand(
            PREDICTIONS,
            protocol=config["figures"]["proof_radius"]["protocol"],
            dataset=config["figures"]["proof_radius"]["dataset"],
            model="wta",
            K=config["figures"]["proof_radius"]["K"],
            seed=STUDY["seeds"][0],
        ),
    output:
        pdf=f"{FIGURES}/proof_radius.pdf",
        png=report(
            f"{FIGURES}/proof_radius.png",
            caption="../report/proof_radius.rst",
            category="Synthetic study",
            labels={"figure": "Proof: radius of cells"},
        ),
    log:
        f"{LOGS}/figure_proof_radius.log",
    benchmark:
        f"{BENCHMARKS}/figure_proof_radius.tsv"
    group:
        "synthetic_figures"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        x=config["figures"]["proof_radius"]["x"],
        domain=STUDY["domain"],
        code=digest("figure_proof_radius.py"),
    script:
        "../scripts/figure_proof_radius.py"


rule figure_proof_partition:
    input:
        expand(
            PREDICTIONS,
            protocol=config["figures"]["proof_partition"]["protocol"],
            dataset=config["figures"]["proof_partition"]["dataset"],
            model="wta",
            K=config["figures"]["proof_partition"]["K"],
            seed=STUDY["seeds"][0],
        ),
    output:
        pdf=f"{FIGURES}/proof_partition.pdf",
        png=report(
            f"{FIGURES}/proof_partition.png",
            caption="../report/proof_partition.rst",
            category="Synthetic study",
            labels={"figure": "Proof: cells of a set"},
        ),
    log:
        f"{LOGS}/figure_proof_partition.log",
    benchmark:
        f"{BENCHMARKS}/figure_proof_partition.tsv"
    group:
        "synthetic_figures"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        x=config["figures"]["proof_partition"]["x"],
        chosen=next(
            {key: value for key, value in one.items() if key != "name"}
            for one in STUDY["properties"]["sets"]
            if one["name"] == config["figures"]["proof_partition"]["set"]
        ),
        domain=STUDY["domain"],
        code=digest("figure_proof_partition.py"),
    script:
        "../scripts/figure_proof_partition.py"
