"""The page that shows all results: one file of HTML, which needs no network."""
