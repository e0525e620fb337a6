"""The UCI study, one module for each stage."""
