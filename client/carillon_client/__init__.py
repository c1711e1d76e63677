"""Client of a Carillon server."""

from carillon_client.client import Client
from carillon_client.connection import CarillonError, Problem, Unreachable

__all__ = ["CarillonError", "Client", "Problem", "Unreachable"]
