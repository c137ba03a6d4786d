"""How tests/conftest.py checks types at run time: an int will do where a float is asked for."""

from beartype import BeartypeConf, beartype

typechecked = beartype(conf=BeartypeConf(is_pep484_tower=True))
