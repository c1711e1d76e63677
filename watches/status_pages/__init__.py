"""Status pages: their public view, their forms, and the mails to their subscribers."""
