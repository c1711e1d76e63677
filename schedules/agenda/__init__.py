"""What comes and what was sent, by days: for the pages, and for the calendars that read it."""
