"""The audio study: where sounds come from, as a density on the sphere for each frame."""
