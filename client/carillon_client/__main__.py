import sys

from carillon_client.command import main

sys.exit(main())
