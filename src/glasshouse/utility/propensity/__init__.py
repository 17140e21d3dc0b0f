"""Propensity: can released records be told from original ones?"""
