"""How the tests are run.

run_tests.py        make test and make test-all
compare_outputs.py  nbval compares stored outputs as a reader would: a plugin of pytest
processors.py       notebooks and numerical tests as on other processors: make elsewhere
breaks.py           bugs that people really make, and whether a test notices: make breaks
jitter/             notebooks with other roundings: make jitter
"""
