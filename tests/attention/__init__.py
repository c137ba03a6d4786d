"""Tests of attention_src.attention."""
