"""Exact nearest records on a graphics card: a matrix product bounds all pairs, the few that may matter are computed."""
