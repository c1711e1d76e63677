"""Words for people: languages, numbers, states, refusals."""
