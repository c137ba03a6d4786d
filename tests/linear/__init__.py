"""Tests of attention_src.linear."""
