# Files from elsewhere (config/data.yaml), and the sets that are made of them. All tiers share them.
# A set that cannot be had fails alone: what does not need it goes on.


rule uci_data:
    input:
        expand(f"{CACHE}/uci/{{dataset}}.safetensors", dataset=FILES["uci"]),


# What a file holds follows from its checksums alone: another address, mirror or way to download
# does not fetch it again, and there is no digest of code.
for name, entry in FILES["uci"].items():
    if kept_at(entry):

        rule:
            name:
                f"fetch_{name}"
            output:
                kept_at(entry),
            log:
                f"{LOGS}/fetch/{name}.log",
            benchmark:
                f"{BENCHMARKS}/fetch/{name}.tsv"
            localrule: True
            conda:
                "../../envs/cpu.yaml"
            resources:
                mem_mb=500,
                runtime=240,
                downloads=1,
                download_mb=math.ceil(entry["file"].get("bytes", 0) / 10**6),
            params:
                checksums=entry["file"]["checksums"],
                file=unrecorded(entry["file"]),
                cache=unrecorded(CACHE),
                mirror=unrecorded(MIRROR),
                note=unrecorded(f"{NOTES}/{name}"),
                until=unrecorded("the next runs go on without it"),
            script:
                "../scripts/fetch_file.py"


rule prepare_uci:
    input:
        lambda wildcards: kept_at(FILES["uci"][wildcards.dataset]) or [],
    output:
        f"{CACHE}/uci/{{dataset}}.safetensors",
    log:
        f"{LOGS}/prepare_uci/{{dataset}}.log",
    benchmark:
        f"{BENCHMARKS}/prepare_uci/{{dataset}}.tsv"
    wildcard_constraints:
        dataset="|".join(FILES["uci"]),
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(30),
    params:
        rows=lambda wildcards: FILES["uci"][wildcards.dataset]["rows"],
        matrix=lambda wildcards: FILES["uci"][wildcards.dataset].get("matrix"),
        code=digest("prepare_uci.py"),
    script:
        "../scripts/prepare_uci.py"
