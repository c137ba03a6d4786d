"""Tests of attention_src.softmax."""
