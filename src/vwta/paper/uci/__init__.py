"""The UCI study: its data sets, and one module for each stage."""
