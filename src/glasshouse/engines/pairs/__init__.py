"""Scores of all pairs of two tables, block by block."""
