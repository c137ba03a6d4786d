"""Python imports this when it starts, where its folder is on PYTHONPATH."""

from tools.jitter import install

install.install()
