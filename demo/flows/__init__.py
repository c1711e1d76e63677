"""The flow of `script/demo events`; FLOWS names this package there."""
