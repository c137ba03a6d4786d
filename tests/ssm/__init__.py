"""Tests of attention_src.ssm."""
