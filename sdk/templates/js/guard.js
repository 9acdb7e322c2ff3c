// A guard: it judges calls before they run. It sees the call and its own `config`, and nothing else: the clock stands at
// the call's time, and there is nothing to open. `wit/plugin.wit` says what a call is; names are in camelCase here.

import { get } from "chio:plugin/configuration@0.1.0";

export const guarding = {
  check(call) {
    const config = configuration();
    // 1970 began on a Thursday.
    const day = (Math.floor(Number(call.time) / 86400) + 3) % 7;
    if (day >= 5 && config.weekend === "deny" && call.tool.startsWith("write_")) {
      return verdict({ tag: "deny", val: "nothing is written at weekends" });
    }
    return verdict({ tag: "allow", val: [] });
  },
};

// What stands under `config` in the policy. What is thrown is an error, and an error is a denial.
function configuration() {
  const config = JSON.parse(get()) ?? {};
  for (const key of Object.keys(config)) {
    if (key !== "weekend") throw `the configuration is not valid: unknown key ${key}`;
  }
  if (!["allow", "deny", undefined].includes(config.weekend)) {
    throw "the configuration is not valid: weekend is allow or deny";
  }
  return config;
}

function verdict(decision) {
  return { decision, details: null, secretArguments: [] };
}
