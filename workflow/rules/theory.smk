# Theory of the synthetic problems: reference risks, and properties of optimal networks, measured on trained ones.


rule evaluate_synthetic_theory:
    """Compute the reference risks of a problem: asymptotic ones, and Lloyd's optimum."""
    output:
        f"{SYNTHETIC}/{PROBLEM}/theory.parquet",
    log:
        f"{LOGS}/evaluate_synthetic_theory/{PROBLEM}.log",
    resources:
        runtime=growing(15),
        work=STUDY.theory_work(),
    params:
        constants=STUDY.constants,
        counts=STUDY["K"],
        domain=STUDY["domain"],
        optimum=STUDY["optimum"],
        code=code("evaluate_synthetic_theory.py"),
    script:
        "../scripts/evaluate_synthetic_theory.py"


rule evaluate_properties:
    """Measure the properties of optimal networks on the trained ones of a problem."""
    input:
        data=DATA,
        networks=STUDY.networks("properties", NETWORK),
        theory=STUDY.data(f"{SYNTHETIC}/{PROBLEM}/theory.parquet"),
    output:
        f"{SYNTHETIC}/{PROBLEM}/properties.parquet",
    log:
        f"{LOGS}/evaluate_properties/{PROBLEM}.log",
    resources:
        mem_mb=growing(4000),
        runtime=growing(30),
        work=STUDY.properties_work,
    params:
        law=STUDY.law,
        properties=STUDY.properties,
        protocol=STUDY.selected,
        domain=STUDY["domain"],
        code=code("evaluate_properties.py"),
    script:
        "../scripts/evaluate_properties.py"
