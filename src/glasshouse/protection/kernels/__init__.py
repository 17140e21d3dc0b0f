"""Compiled loops of the operations, imported where they run."""
