// An output hook: it sees what a tool returned before the agent does, and its own `config`, and nothing else: the clock
// stands at the call's time, and there is nothing to open. `wit/plugin.wit` says what a call is; names are in camelCase here.

import { get } from "chio:plugin/configuration@0.1.0";

export const inspecting = {
  inspect(call, output) {
    const found = { count: 0 };
    const value = hide(JSON.parse(output), configuration().hide, found);
    if (found.count === 0) return { tag: "allow" };
    return { tag: "redact", val: { value: JSON.stringify(value), what: [{ kind: "word", count: found.count }] } };
  },
};

// What stands under `config` in the policy. What is thrown is an error, and an error withholds the output.
function configuration() {
  const config = JSON.parse(get()) ?? {};
  for (const key of Object.keys(config)) {
    if (key !== "hide") throw `the configuration is not valid: unknown key ${key}`;
  }
  const { hide = [] } = config;
  if (!Array.isArray(hide) || !hide.every((word) => typeof word === "string")) {
    throw "the configuration is not valid: hide is a list of words";
  }
  return { hide };
}

// The value with the words replaced in every text, and how many they were.
function hide(value, words, found) {
  if (typeof value === "string") {
    for (const word of words) {
      const parts = word === "" ? [value] : value.split(word);
      found.count += parts.length - 1;
      value = parts.join("[hidden]");
    }
    return value;
  }
  if (Array.isArray(value)) return value.map((item) => hide(item, words, found));
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, hide(item, words, found)]));
  }
  return value;
}
