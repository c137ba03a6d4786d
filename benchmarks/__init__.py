"""How fast the kernels are, measured on a GPU, and what they use on chips that are not here.

python -m benchmarks [topic ...]     measure and record (needs a GPU)
python -m benchmarks --smoke         run every script at tiny sizes, anywhere; records nothing
python -m benchmarks.launch          what a call costs the CPU (needs no GPU)
python -m benchmarks.static          compile the kernels that changed for every chip (needs no GPU)
"""
