"""The documentation: its code runs, its files are what the parsers take, its pages say what is so."""
