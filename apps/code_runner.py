# Compares the functions in two fenced Python blocks: exit code 0 if both have one name and return equal values for
# x = 0 ... 19, 2 if the answer cannot be run, else 1. Standard input is a JSON list [reply, answer]. The reply is untrusted: its syntax must consist of
# the nodes, names and methods listed here, which reach neither modules nor the interpreter's inside; the caller limits
# time, memory and files.
import ast
import json
import re
import sys

NODES = (
    ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For,
    ast.While, ast.If, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp,
    ast.Dict, ast.Set, ast.List, ast.Tuple, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
    ast.comprehension, ast.Compare, ast.Call, ast.keyword, ast.Constant, ast.Attribute, ast.Subscript, ast.Slice,
    ast.Name, ast.Starred, ast.JoinedStr, ast.FormattedValue, ast.expr_context, ast.boolop, ast.operator, ast.unaryop,
    ast.cmpop, ast.Lambda)
BUILTINS = (
    "abs all any bin bool chr dict divmod enumerate filter float hex int len list map max min oct ord pow range "
    "reversed round set sorted str sum tuple zip").split()
METHODS = set((
    "add append bit_length capitalize clear copy count endswith extend find get index insert isalpha isdigit items "
    "join keys lower pop remove replace reverse rstrip lstrip sort split startswith strip title update upper values "
    "zfill").split())


def check(tree):
    for node in ast.walk(tree):
        allowed = isinstance(node, NODES)
        if isinstance(node, ast.Attribute):
            allowed = node.attr in METHODS
        if isinstance(node, ast.FunctionDef):
            allowed = not node.decorator_list
        name = getattr(node, "id", None) or getattr(node, "arg", None) or getattr(node, "name", None) or ""
        if not allowed or name.startswith("__"):
            raise ValueError("not allowed: " + type(node).__name__)


def function(text):
    block = re.search(r"```(?:python|py)?[ \t]*\n(.*?)```", text, re.DOTALL)
    tree = ast.parse(block.group(1))
    check(tree)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    builtins = __builtins__ if isinstance(__builtins__, dict) else vars(__builtins__)
    scope = {"__builtins__": {name: builtins[name] for name in BUILTINS}}
    exec(compile(tree, "block", "exec"), scope)
    return names[-1], scope[names[-1]]


def same(reply, wanted_name, wanted):
    name, made = function(reply)
    return name == wanted_name and all(made(x) == value for x, value in enumerate(wanted))


try:
    reply, answer = json.load(sys.stdin)
    name, answer_function = function(answer)
    values = [answer_function(x) for x in range(20)]
except BaseException:
    sys.exit(2)
try:
    sys.exit(0 if same(reply, name, values) else 1)
except Exception:
    sys.exit(1)
