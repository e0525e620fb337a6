"""Data of the studies: one module for each."""
