"""What all Triton kernels share: where they run, how they start, what other chips would use."""
