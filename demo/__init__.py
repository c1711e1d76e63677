"""`script/demo`: one reminder from sign-up to delivery, on local receivers, with every count checked."""
