"""From figures to decisions: policy, assessment, comparison, audit."""
