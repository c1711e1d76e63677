#!/usr/bin/env python
"""Django's command line for Carillon."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line

    from config.env import Misconfigured

    try:
        execute_from_command_line(sys.argv)
    except Misconfigured as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
