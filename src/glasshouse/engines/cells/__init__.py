"""Counting, once: cells of keys and target, key classes, margins, subsets."""
