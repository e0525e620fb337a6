"""Spaces, kernels, and Voronoi cells with their exact integrals."""
