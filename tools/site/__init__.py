"""The documentation site: what runs the code of its pages, and writes the pages that follow from declarations."""
