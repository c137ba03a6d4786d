"""How a function is called, and what is right: layouts, roles of arguments, layers, mistakes."""
