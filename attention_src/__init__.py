"""Attention, from retrieval to kernels: the code of the course, topic first.

Where to look; each topic builds on those above it:

    scores      how well a query and a key match: dot, cosine, bilinear, additive
    softmax     scores into weights, and the rivals of softmax
    attention   o = softmax(scale * q k^T) v: the oracle, masks, dense and SDPA layers
    flash       the same over tiles: no matrix of scores; packed rows; memory traffic, counted
    rope        rotary positions, and how to stretch them
    kvcache     keys and values of earlier tokens: contiguous, windowed, quantised, paged
    multihead   projections, head split, grouped key/value heads, latent attention
    linear      attention without softmax: parallel, recurrent, chunkwise; gates, the delta rule
    ssm         state space models: fixed, selective (Mamba), dual (Mamba-2)
    ring        one sequence over several devices
    models      real checkpoints on the parts above: minilm (NumPy), smollm2 (PyTorch); planted, a
                tiny model with hand-written heads, whose truth is known; recall, trained here

In a topic, a file's name, or its folder's, says what it stands on:

    layer*, cache*   PyTorch: gradients, modules, choice of implementation
    kernel*          Triton
    anything else    NumPy only; `reference.py` is the clearest statement, the oracle of the tests

Beside them:

    shapes          the ValueErrors: which axis does not fit, or what is sparse, nested or too
                    narrow, and how to repair it
    tensors         the same for dtypes and devices, and which of them kernels take
    costs           bytes and operations of attention and of caches; costs.algorithms: of every
                    algorithm here; costs.bill: of one workload, before and after a change;
                    costs.roofline: the chips' limits on them
    timing          median and spread of a running time
    new_process     a function's source code, run in processes of its own
    testing         the three gates for numerical code, for your own implementations too
    triton_support  how kernels are launched, where they run, what they would use on a chip that is
                    not here
    figures         the course's plots
    explorables     the figures that a reader can change
    exercises       the checks that the chapters call, a file for each chapter

Importing this package imports none of them, so it costs nothing; references need NumPy only.
"""

__version__ = "0.1.0"
