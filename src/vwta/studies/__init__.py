"""The paper's studies: for each, one module a stage, so that a stage depends on no later one."""
