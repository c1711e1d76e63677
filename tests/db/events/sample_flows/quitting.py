"""A file of a flow that ends its process."""

import sys

sys.exit("This is no flow.")
