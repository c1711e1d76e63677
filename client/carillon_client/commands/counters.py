"""Add to counters, and read them."""

import argparse

from carillon_client.client import Client
from carillon_client.commands.output import Declare, show, show_list


def declare(command: Declare) -> None:
    counter = command("counter", _counter, "Add to a counter, or read it. Without a name, list your counters.")
    counter.add_argument("name", nargs="?", help="of the counter, such as builds")
    counter.add_argument("by", nargs="?", type=int, metavar="+N", help="what to add; -N subtracts")
    counter.add_argument("--delete", action="store_true", help="delete it: it begins at 0 again")
    counter.set_defaults(limit=0)


def _counter(carillon: Client, options: argparse.Namespace) -> None:
    if options.name is None:
        counters = carillon.counters.list()
        show_list(options, counters, lambda one: f"{one['name']}: {one['value']}", "There is no counter yet.")
        return
    if options.delete:
        carillon.counters.delete(options.name)
        show(options, None, [f"{options.name} was deleted."])
        return
    if options.by is None:
        counter = carillon.counters.read(options.name)
    else:
        counter = carillon.counters.add(options.name, options.by)
    show(options, counter, [str(counter["value"])])
