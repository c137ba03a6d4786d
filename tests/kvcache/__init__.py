"""Tests of attention_src.kvcache."""
