"""The audio study: its scenes and features, and one module for each stage."""
