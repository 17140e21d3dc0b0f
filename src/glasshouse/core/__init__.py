"""What every other room stands on: measures, results, errors, intervals, random streams."""
