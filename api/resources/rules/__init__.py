"""Rules: what rings when something happens."""
