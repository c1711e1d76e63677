"""Record events, count them, handle them, and show what became of them."""
