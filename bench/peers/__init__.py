"""glasshouse beside other packages: the same tables, each package in an environment of its own.

    python -m bench.peers run [--quick]      measures, and appends each answer to .bench/peers.jsonl as it comes
    python -m bench.peers report             writes docs/benchmarks-peers.md and docs/benchmarks-peers.svg

No package of others is needed to import this, and none is committed: they come from the package index.
"""
