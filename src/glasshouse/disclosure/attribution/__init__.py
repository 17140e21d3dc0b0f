"""Attribution by matching keys: CAP, TCAP, WEAP, DiSCO and synthpop's whole table."""
