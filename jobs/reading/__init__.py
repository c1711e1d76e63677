"""Read what a source answered: text in any charset, numbers, HTML, feeds. Pure, and bounded for hostile input."""
