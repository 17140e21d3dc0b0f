"""Models that predict: every named attacker, and any scikit-learn estimator."""
