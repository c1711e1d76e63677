"""The kinds of work that events need, what they feed and what prunes them."""
