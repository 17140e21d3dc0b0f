"""From a failed release to one that passes: a search over protecting operations, verified on people it never saw."""
