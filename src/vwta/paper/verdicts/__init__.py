"""The answer of the reproduction: a verdict on every number and on every claim of the paper."""
