"""Tests of attention_src.multihead."""
