"""The costly jobs on the executors of a Spark session: the same kernels on parts of the work, put together here.

Executors need glasshouse: installed on every node, or shipped with the job (docs/scale.md says how). Codes and scaled
numbers travel to them, never a label and never a name.
"""
