"""Training: one loop, stacks of small networks, checkpoints, signals."""
