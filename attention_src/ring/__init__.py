"""Ring attention: one sequence over several devices, keys and values passed round."""
