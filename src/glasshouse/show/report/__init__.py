"""Reports: one self-contained page, Markdown, JUnit XML, and the short form a notebook shows."""
