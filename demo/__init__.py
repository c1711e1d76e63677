"""`script/demo`: reminders from sign-up to delivery, on local receivers and sources, with every count checked."""
