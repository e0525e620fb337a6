"""Conditional densities for tables, as a scikit-learn estimator: `vwta.VoronoiRegressor`."""
