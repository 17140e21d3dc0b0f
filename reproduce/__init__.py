"""Published figures beside ours: `python -m reproduce [names] [--quick]` writes docs/reproduction/.

Every source (a paper, a guide) has a file of published figures in `published/`, one or more studies that compute ours,
and a page. What counts as reproduced is said once, in :mod:`reproduce.row`.
"""
