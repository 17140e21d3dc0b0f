"""One tree, grown and pruned by the rules of recursive partitioning."""
