"""Networks that predict atoms, their losses, and modules that return a distribution."""
