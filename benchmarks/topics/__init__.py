"""What is measured on a GPU: a file for each topic."""
