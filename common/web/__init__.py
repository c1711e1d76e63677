"""Parts of pages that every app uses."""
