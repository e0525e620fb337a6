"""Pages in one file that load nothing: HTML, its policy, and what several pages share."""
