"""Conditional densities from atoms, and what is measured on them."""
