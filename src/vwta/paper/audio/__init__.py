"""The audio study, one module for each stage."""
