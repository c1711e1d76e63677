"""Build the client. First write `carillon_client/aio.py`, the client for asyncio, from the modules of `Client`.

Methods that wait for the server become coroutines, and those that yield what it answers asynchronous iterators.
"""

import ast
import re
from pathlib import Path

CLIENT = Path(__file__).resolve().parent / "carillon_client"
HEAD = '"""The client for asyncio: each method of `Client` as a coroutine or an asynchronous iterator."""'
WORDS = {
    "Client": "AsyncClient",
    "Connection": "AsyncConnection",
    "Iterator": "AsyncIterator",
    "__enter__": "__aenter__",
    "__exit__": "__aexit__",
    "_http.close": "_http.aclose",
    "time.sleep": "asyncio.sleep",
}
OWN = "carillon_client.connection"
WAITS = {"get", "post", "change", "close", "read", "_send", "_try", "request", "aclose", "sleep"}


class Awaiting(ast.NodeTransformer):
    """Await what waits. A method that does so waits, too; a list does not: it is iterated."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(ast.Name("self" | "asyncio"), name) if name in WAITS:
                return ast.Await(node)
            case ast.Attribute(ast.Attribute(attr="_connection" | "connection" | "_http"), name) if name in WAITS:
                return ast.Await(node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.YieldFrom):
            one = ast.Expr(ast.Yield(ast.Name("one")))
            return ast.copy_location(ast.For(ast.Name("one"), node.value.value, [one], []), node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if node.name == "__aenter__" or any(isinstance(one, ast.Await) for one in ast.walk(node)):
            return ast.copy_location(ast.AsyncFunctionDef(**dict(ast.iter_fields(node))), node)
        return node


def parsed(module: str) -> list[ast.stmt]:
    """The statements of a module of `Client`, in the words of asyncio."""
    words = "|".join(map(re.escape, WORDS))
    source = (CLIENT / f"{module.rpartition('.')[2]}.py").read_text()
    return ast.parse(re.sub(rf"\b({words})\b", lambda match: WORDS[match[0]], source)).body


def imported(node: ast.stmt, module: str, copied: list[str]) -> str:
    """The import of what stays in its module, or its own import; empty for one of what is copied."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
            return f"from {module} import {name}"
        case ast.Import() | ast.ImportFrom() if getattr(node, "module", "") not in copied:
            return ast.unparse(node)
    return ""


def text() -> str:
    imports, classes = ["import asyncio"], []
    modules = [str(node.module) for node in parsed("client") if isinstance(node, ast.ImportFrom)]
    ours = [name for name in modules if name.startswith("carillon_client.") and not name.endswith(".documents")]
    ours.remove(OWN)
    copied = [OWN, *ours, "carillon_client.client"]
    for module in copied:
        for node in parsed(module):
            if isinstance(node, ast.ClassDef) and not node.name.endswith(("Error", "Unreachable", "Problem")):
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
