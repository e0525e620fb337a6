"""Figures of the paper, drawn from tidy metrics alone."""
