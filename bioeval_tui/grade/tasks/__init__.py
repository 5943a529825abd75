"""Machine-learning tasks: finding, describing, downloading and preparing them."""
