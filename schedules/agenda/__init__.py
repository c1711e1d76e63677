"""Coming and sent reminders, by days: for the pages, and for the calendars that read it."""
