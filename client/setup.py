"""Build the client. First write `carillon_client/aio.py`, the client for asyncio, from the modules of `Client`.

Methods that wait for the server become coroutines, and those that yield what it answers asynchronous iterators.
"""

import ast
from pathlib import Path

CLIENT = Path(__file__).resolve().parent / "carillon_client"
HEAD = '"""The client for asyncio: each method of `Client` as a coroutine or an asynchronous iterator."""'
NAMES = {
    "Client": "AsyncClient",
    "Connection": "AsyncConnection",
    "Iterator": "AsyncIterator",
    "__enter__": "__aenter__",
    "__exit__": "__aexit__",
}
OWN = "carillon_client.connection"
WAITS = {"get", "post", "change", "close", "_send", "_try", "read"}  # of a connection, and of a class for itself
ENTERS = {"__enter__", "__exit__"}


class Awaiting(ast.NodeTransformer):
    """Await what waits. A method that does so waits, too; a list does not: it is iterated."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(
                value=ast.Name("self") | ast.Attribute(attr="_connection" | "connection"), attr=name
            ) if name in WAITS:
                return ast.Await(node)
            case ast.Attribute(value=ast.Attribute(attr="_http"), attr="request"):
                return ast.Await(node)
            case ast.Attribute(value=ast.Attribute(attr="_http"), attr="close"):
                node.func.attr = "aclose"
                return ast.Await(node)
            case ast.Attribute(value=ast.Name("time"), attr="sleep"):
                node.func.value.id = "asyncio"
                return ast.Await(node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.YieldFrom):
            one = ast.Expr(ast.Yield(ast.Name("one")))
            return ast.copy_location(ast.For(ast.Name("one"), node.value.value, [one], []), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "httpx" and node.attr == "Client":
            node.attr = "AsyncClient"
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = NAMES.get(node.id, node.id)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if node.name not in ENTERS and not any(isinstance(one, ast.Await) for one in ast.walk(node)):
            return node
        parts = {name: getattr(node, name) for name in node._fields} | {"name": NAMES.get(node.name, node.name)}
        return ast.copy_location(ast.AsyncFunctionDef(**parts), node)


def imported(node: ast.stmt, module: str, copied: list[str]) -> str:
    """The import of what stays in its module, or its own import; empty for one of what is copied."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
            return f"from {module} import {name}"
        case ast.Import() | ast.ImportFrom() if getattr(node, "module", "") not in copied:
            return ast.unparse(node).replace("Iterator", "AsyncIterator")
    return ""


def text() -> str:
    imports, classes = ["import asyncio"], []
    main = ast.parse((CLIENT / "client.py").read_text())
    modules = [str(node.module) for node in main.body if isinstance(node, ast.ImportFrom)]
    ours = [name for name in modules if name.startswith("carillon_client.") and not name.endswith(".documents")]
    ours.remove(OWN)
    copied = [OWN, *ours, "carillon_client.client"]
    for module in copied:
        for node in ast.parse((CLIENT / f"{module.rpartition('.')[2]}.py").read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.endswith(("Error", "Unreachable", "Problem")):
                node.name = NAMES.get(node.name, node.name)
                classes.append(ast.unparse(ast.fix_missing_locations(Awaiting().visit(node))))
            else:
                imports.append(imported(node, module, copied))
    return "\n\n".join([HEAD, *imports, *classes])


def write() -> None:
    """Write it beside the others. Tests and types of a checkout, which nobody builds, need it too."""
    new = CLIENT / "aio.py.new"
    new.write_text(text())
    new.replace(CLIENT / "aio.py")


if __name__ == "__main__":
    from setuptools import setup

    write()
    setup()
