"""A small task that asks a memory for what was written into it, and models that learn it.

task      pairs of a key and a value, each key once or twice; then questions. NumPy
mixers    what takes the place of attention: softmax, linear, decay, delta, ssd
model     Recall: one layer around a mixer
train     train one, and score it

One layer does two things: a value must meet the key before it, and the memory must keep the pair.
The task is about the second, so the model starts with the first in place.
"""
