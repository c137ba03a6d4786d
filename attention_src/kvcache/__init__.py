"""What a model keeps of earlier tokens: caches of keys and values, and decoding over them."""
