"""The command `vwta`: models of one's own tables, from a terminal."""
