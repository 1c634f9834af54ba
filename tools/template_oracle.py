"""jinja2 as the transformers library sets it up for chat templates."""
import json
import sys
from datetime import datetime
from functools import lru_cache

import jinja2
import jinja2.ext
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

if tuple(map(int, jinja2.__version__.split(".")[:3])) < (3, 1, 6):
    sys.exit(f"needs jinja2 3.1.6 or newer, found {jinja2.__version__}: python3 -m pip install jinja2")


class Raised(Exception):
    """What a template's raise_exception() raises."""


class GenerationTag(jinja2.ext.Extension):
    """{% generation %}: marks what the model wrote; the text itself is unchanged."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_pass"), [], [], body).set_lineno(line)

    @staticmethod
    def _pass(caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise Raised(message)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                        extensions=[GenerationTag, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda format: datetime.now().strftime(format)
    return env


@lru_cache(maxsize=None)
def compiled(source):
    return environment().from_string(source)


def render(source, conversation, add_generation_prompt):
    """{"expected": text}, or {"error": message, "exact": whether the engine must have the same message}."""
    variables = {"tools": None, "documents": None, **json.loads(conversation)}
    variables["add_generation_prompt"] = add_generation_prompt
    try:
        text = compiled(source).render(**variables)
        text.encode("utf-8")
        return {"expected": text}
    except Raised as error:
        return {"error": str(error), "exact": True}
    except jinja2.exceptions.UndefinedError as error:
        return {"error": str(error), "exact": True}
    except Exception as error:  # whatever Python raises inside the template; the wording is not compared
        return {"error": f"{type(error).__name__}: {error}", "exact": False}
