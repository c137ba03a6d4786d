"""Five ways to compare a query with a key: dot, scaled dot, cosine, bilinear, additive."""
