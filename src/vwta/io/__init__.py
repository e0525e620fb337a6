"""Files, errors for users, provenance, progress."""
