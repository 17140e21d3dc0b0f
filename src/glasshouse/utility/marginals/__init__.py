"""One column at a time: distributions, means, tails, missing values."""
