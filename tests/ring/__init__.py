"""Tests of attention_src.ring."""
