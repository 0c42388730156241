"""How frameworks seed themselves, cut their tensors and draw them."""
