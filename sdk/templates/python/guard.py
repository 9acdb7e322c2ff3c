"""A guard: it judges calls before they run. It sees the call and its own `config`, and nothing else: the clock stands at
the call's time, and there is nothing to open. `wit/plugin.wit` says what a call is; names are in snake_case here."""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.guarding import Decision_Allow, Decision_Deny, Verdict
from wit_world.imports import configuration


class Guarding(exports.Guarding):
    def check(self, call):
        config = settings()
        # 1970 began on a Thursday.
        day = (call.time // 86400 + 3) % 7
        if day >= 5 and config.get("weekend") == "deny" and call.tool.startswith("write_"):
            return Verdict(Decision_Deny("nothing is written at weekends"), None, [])
        return Verdict(Decision_Allow([]), None, [])


def settings():
    """What stands under `config` in the policy. An `Err` is an error, and an error is a denial."""
    config = json.loads(configuration.get()) or {}
    for key in config:
        if key != "weekend":
            raise Err(f"the configuration is not valid: unknown key {key}")
    if config.get("weekend", "allow") not in ("allow", "deny"):
        raise Err("the configuration is not valid: weekend is allow or deny")
    return config
