"""Random conversations for chat templates: clean ones, ones with tools, and ones that break every habit."""
import json
import random

TEXTS = [
    "Hello", "What is 2 + 2?", "", " ", "\n", "  leading", "trailing \t\n", "\u00a0no-break\u3000", "line one\nline two\r\nthree",
    "tabs\tand \"quotes\" 'both'", "back\\slash {{ not a tag }} {% raw %}", "<think>\nhm\n</think>\n\nThe answer is 4.",
    "<think></think>x", "a </think> b </think> c", "<tool_response>\n42\n</tool_response>", "ünïcödé ß İstanbul ŉ ﬁ",
    "日本語のテキスト。", "😀👩‍👩‍👧 emoji\u200d", "\u2028separator\u2029", "control \u0001\u001f\u007f\u0085 end", "<|im_end|> inside",
    "/nothink", "ends with /nothink", "ΣΑΣ ΟΔΟΣ", "{\"json\": true}", "100%", "<b>&amp;</b>", "e\u0301 combining", "x" * 300,
    "\u1e9e capital sharp s ǆ ǅ", "word " * 40, "- item\n- item\n\n\n```py\nprint('hi')\n```",
]
ROLES = ["user", "assistant", "system", "tool"]
NAMES = ["get_weather", "search", "add", "Zähler", "list_files"]
KEYS = ["city", "unit", "n", "items", "keys", "query text", "ключ", "type", "name", "x"]


class Maker:
    def __init__(self, seed, small):
        self.random = random.Random(seed)
        self.small = small

    def chance(self, probability):
        return self.random.random() < probability

    def text(self):
        texts = [t for t in TEXTS if len(t) < 60] if self.small else TEXTS
        parts = self.random.randint(1, 1 if self.small or self.chance(0.7) else 3)
        return "".join(self.random.choice(texts) for _ in range(parts))

    def number(self):
        return self.random.choice([
            0, 1, -7, 42, 2**31, 2**53 + 1, 2**63, 2**64 - 1, -2**63, 10**25, 0.0, -0.0, 0.1, 1.0, 2.5, -3.75, 1e16, 1e15, 1e-5,
            1e-4, 1.5e300, 5e-324, 123456789.123456789, 1e22, 0.30000000000000004, self.random.random(),
            self.random.uniform(-1e6, 1e6), self.random.randint(-10**9, 10**9)])

    def value(self, depth=0):
        kind = self.random.randint(0, 7 if depth < 3 else 4)
        if kind <= 1:
            return self.text()
        if kind == 2:
            return self.number()
        if kind == 3:
            return self.random.choice([True, False, None])
        if kind == 4:
            return self.random.choice([[], {}, "", 0])
        if kind == 5:
            return [self.value(depth + 1) for _ in range(self.random.randint(1, 3))]
        return {self.random.choice(KEYS): self.value(depth + 1) for _ in range(self.random.randint(1, 3))}

    def schema(self, depth=0):
        kind = self.random.choice(["string", "integer", "number", "boolean", "array", "object", "union", "enum", "none", "oneOf"])
        if kind == "union":
            return {"type": self.random.choice([["string", "null"], ["integer", "number", "string"], ["boolean"]])}
        if kind == "enum":
            return {"type": "string", "enum": [self.text() for _ in range(self.random.randint(1, 3))]}
        if kind == "none":
            return {"description": self.text()}
        if kind == "oneOf":
            return {"oneOf": [self.schema(3), {**self.schema(3), "description": "the other", "default": self.value(3)}]}
        schema = {"type": kind}
        if self.chance(0.5):
            schema["description"] = self.text()
        if self.chance(0.2):
            schema["default"] = self.value(2)
        if self.chance(0.1):
            schema["nullable"] = self.random.choice([True, False])
        if kind == "array" and self.chance(0.8):
            schema["items"] = self.schema(depth + 1) if depth < 3 else {"type": "string"}
        if kind == "object" and depth < 3:
            if self.chance(0.7):
                schema["properties"] = {self.random.choice(KEYS): self.schema(depth + 1) for _ in range(2)}
            elif self.chance(0.5):
                schema["additionalProperties"] = self.random.choice([True, {"type": "integer"}])
        return schema

    def tool(self):
        function = {"name": self.random.choice(NAMES), "description": self.text()}
        if self.chance(0.9):
            properties = {self.random.choice(KEYS): self.schema() for _ in range(self.random.randint(0, 3))}
            function["parameters"] = {"type": "object", "properties": properties}
            if self.chance(0.6):
                function["parameters"]["required"] = [key for key in properties if self.chance(0.5)]
        if self.chance(0.1):
            function["return"] = self.schema()
        if self.chance(0.05):
            del function["description"]
        return {"type": "function", "function": function} if self.chance(0.95) else function

    def call(self):
        arguments = {self.random.choice(KEYS): self.value() for _ in range(self.random.randint(0, 3))}
        function = {"name": self.random.choice(NAMES), "arguments": arguments}
        if self.chance(0.15):
            function["arguments"] = json.dumps(arguments)
        if self.chance(0.05):
            return function
        call = {"type": "function", "function": function}
        if self.chance(0.8):
            call["id"] = self.random.choice(["abcdefghi", "123456789", "call_1"]) if self.chance(0.3) else "abcdefghi"
        return call

    def parts(self):
        kinds = [{"type": "text", "text": self.text()}, {"type": "image", "image": "file:///x.png"}, {"type": "text", "text": ""},
                 {"type": "video"}, {"type": "image_url", "image_url": {"url": "https://example.org/a?b=c&d"}}, {"text": self.text()}]
        return [self.random.choice(kinds) for _ in range(self.random.randint(0, 3))]

    def content(self, wild):
        if wild and self.chance(0.25):
            return self.random.choice([None, self.parts(), self.parts(), self.number(), {"content": self.text()}, [self.text()]])
        return self.text()

    def message(self, role, wild):
        message = {"role": role}
        if not (wild and self.chance(0.07)):
            message["content"] = self.content(wild)
        if role == "assistant":
            if self.chance(0.2):
                message["reasoning_content"] = self.text() if self.chance(0.9) else None
            if wild and self.chance(0.15):
                message["tool_calls"] = self.random.choice([None, [], [self.call()], [self.call(), self.call()]])
        if role == "tool":
            if self.chance(0.8):
                message["tool_call_id"] = "abcdefghi"
            if self.chance(0.5):
                message["name"] = self.random.choice(NAMES)
        if wild and self.chance(0.1):
            message[self.random.choice(["name", "extra", "items", "weight"])] = self.value()
        return message

    def clean(self, with_tools):
        messages = [self.message("system", False)] if self.chance(0.5) else []
        for _ in range(self.random.randint(1, 2 if self.small else 4)):
            messages.append(self.message("user", False))
            if with_tools and self.chance(0.7):
                calls = [self.call() for _ in range(1 if self.chance(0.7) else 2)]
                turn = {"role": "assistant", "content": self.random.choice(["", None, self.text()]), "tool_calls": calls}
                if self.chance(0.3):
                    turn["reasoning_content"] = self.text()
                messages.append(turn)
                messages += [self.message("tool", False) for _ in calls]
            if self.chance(0.85):
                messages.append(self.message("assistant", False))
        return messages

    def wild(self):
        roles = ROLES + (["developer", "User", "ipython"] if self.chance(0.2) else [])
        return [self.message(self.random.choice(roles), True) for _ in range(self.random.randint(0, 4 if self.small else 9))]

    def conversation(self):
        kind = self.random.choice(["clean", "clean", "tools", "tools", "wild"])
        conversation = {"messages": self.wild() if kind == "wild" else self.clean(kind == "tools")}
        if kind == "tools" or self.chance(0.1):
            tools = [self.tool() for _ in range(self.random.randint(1, 1 if self.small else 3))]
            conversation["tools"] = tools if self.chance(0.95) else self.random.choice([[], None])
        conversation["date_string"] = "01 Jan 2026"
        conversation["bos_token"] = "<s>"
        if self.chance(0.9):
            conversation["eos_token"] = "</s>"
        for name, values in (("enable_thinking", [True, False]), ("preserve_thinking", [True, False]),
                             ("tools_in_user_message", [True, False]), ("reasoning_effort", ["high", "low"]),
                             ("model_name", ["nano", "µ"]), ("model_identity", ["You are Tercet."])):
            if self.chance(0.2):
                conversation[name] = self.random.choice(values)
        if self.chance(0.2):
            conversation["documents"] = [{"title": self.text(), "text": self.text()} for _ in range(self.random.randint(1, 2))]
        return conversation


def make(seed, count, small=False):
    """(conversation as JSON text, add_generation_prompt) of as many conversations."""
    for i in range(count):
        maker = Maker(seed * 1000003 + i, small)
        yield json.dumps(maker.conversation(), ensure_ascii=maker.chance(0.5)), maker.chance(0.7)
