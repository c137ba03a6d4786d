"""What all Triton kernels share: running, interpreting, and compiling for other chips."""
