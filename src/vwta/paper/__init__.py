"""The reproduction of the paper, built on the library."""
