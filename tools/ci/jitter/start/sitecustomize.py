"""Python imports this when it starts, where its folder is on PYTHONPATH."""

from tools.ci.jitter import install

install.install()
