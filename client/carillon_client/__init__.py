"""Client of a Carillon server."""

from carillon_client.client import Client
from carillon_client.connection import CarillonError, Problem, Unreachable

__version__ = "1.0.0"
__all__ = ["CarillonError", "Client", "Problem", "Unreachable"]
