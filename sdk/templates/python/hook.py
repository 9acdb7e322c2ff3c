"""An output hook: it sees what a tool returned before the agent does, and its own `config`, and nothing else: the clock
stands at the call's time, and there is nothing to open. `wit/plugin.wit` says what a call is; names are in snake_case
here."""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.inspecting import HookVerdict_Allow, HookVerdict_Redact, Redaction, Removal
from wit_world.imports import configuration


class Inspecting(exports.Inspecting):
    def inspect(self, call, output):
        value, count = hide(json.loads(output), settings())
        if count == 0:
            return HookVerdict_Allow()
        return HookVerdict_Redact(Redaction(json.dumps(value), [Removal("word", count)]))


def settings():
    """The words under `config` in the policy. An `Err` is an error, and an error withholds the output."""
    config = json.loads(configuration.get()) or {}
    for key in config:
        if key != "hide":
            raise Err(f"the configuration is not valid: unknown key {key}")
    words = config.get("hide", [])
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise Err("the configuration is not valid: hide is a list of words")
    return words


def hide(value, words):
    """The value with the words replaced in every text, and how many they were."""
    if isinstance(value, str):
        count = 0
        for word in filter(None, words):
            count += value.count(word)
            value = value.replace(word, "[hidden]")
        return value, count
    if isinstance(value, list):
        hidden = [hide(item, words) for item in value]
        return [item for item, _ in hidden], sum(count for _, count in hidden)
    if isinstance(value, dict):
        hidden = {key: hide(item, words) for key, item in value.items()}
        return {key: item for key, (item, _) in hidden.items()}, sum(count for _, count in hidden.values())
    return value, 0
