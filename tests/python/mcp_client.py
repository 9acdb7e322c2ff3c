"""Drives a host with the official MCP client.

    python mcp_client.py chio-host run --policy examples/policies/agent.yaml

The arguments are the command line that starts the host. Its policy has the servers `hello` and `files` (with a folder
that may be written to, seen by the tool as /workspace), the guard forbidden_path and the hook secret_redactor.
Exits 0 when the host behaves, 1 with what was wrong otherwise.
"""

import asyncio
import sys
import uuid

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.types import CallToolResult, TextContent

# Nothing here waits longer, so that a host that does not answer fails the test instead of hanging it.
TIMEOUT_SECONDS = 60

TOOLS = {"hello__hello_world", "files__read_file", "files__write_file", "files__list_files"}
# In two parts, so that no scanner takes this file for a leak.
AWS_KEY = "AKIA" + "Q3EGRIVBN7TDWXK2"


def check(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


class Agent:
    """A session, and the few things that are asked of it."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def call(self, tool: str, **arguments: str) -> CallToolResult:
        """Calls a tool. The client raises where a result does not fit the output schema that the tool declares."""
        result = await self.session.call_tool(tool, arguments)
        receipt = (result.meta or {}).get("chio/receipt-id", "")
        check(len(receipt) == 64, f"{tool}: no receipt id in {result}")
        return result

    async def allowed(self, tool: str, **arguments: str) -> str:
        result = await self.call(tool, **arguments)
        check(not result.is_error, f"{tool} {arguments}: {text(result)}")
        check(result.meta["chio/verdict"] == "allow", f"{tool}: {result.meta}")
        return text(result)

    async def denied(self, tool: str, **arguments: str) -> str:
        result = await self.call(tool, **arguments)
        check(result.is_error, f"{tool} {arguments} was not refused: {text(result)}")
        check(result.structured_content is None, f"{tool}: a refusal with structured content")
        check(result.meta["chio/verdict"] == "deny", f"{tool}: {result.meta}")
        check(f"receipt: {result.meta['chio/receipt-id']}" in text(result), f"{tool}: no receipt in {text(result)}")
        return text(result)


async def opens(agent: Agent) -> None:
    opened = await agent.session.initialize()
    check(opened.server_info.name == "chio-host", f"the server is {opened.server_info}")
    tools = (await agent.session.list_tools()).tools
    names = {tool.name for tool in tools}
    check(TOOLS <= names, f"missing tools: {TOOLS - names}")
    check(all(tool.description for tool in tools), "a tool without a description")
    declared = {tool.name for tool in tools if tool.output_schema}
    check("files__list_files" in declared, f"only {declared} declare an output schema")


async def greets(agent: Agent) -> None:
    check(await agent.allowed("hello__hello_world", name="Chio") == "Hello, Chio!", "not greeted")


async def works_with_files(agent: Agent) -> None:
    name = f"note-{uuid.uuid4()}.txt"
    path = f"/workspace/{name}"
    await agent.allowed("files__write_file", path=path, content="a note")
    check(await agent.allowed("files__read_file", path=path) == "a note", "another note than the one written")
    check(name in await agent.allowed("files__list_files", path="/workspace"), "the note is not listed")


async def redacts_secrets(agent: Agent) -> None:
    path = f"/workspace/secret-{uuid.uuid4()}.txt"
    await agent.allowed("files__write_file", path=path, content=f"key: {AWS_KEY}\n")
    read = await agent.allowed("files__read_file", path=path)
    check(AWS_KEY not in read and "[REDACTED:" in read, f"not redacted: {read}")


async def denies(agent: Agent) -> None:
    # The second declares an output schema, which a refusal does not fit (arcade-mcp#817, context-forge#4042).
    for tool in ("files__read_file", "files__list_files"):
        denial = await agent.denied(tool, path="/etc/shadow")
        check("forbidden_path" in denial, f"not by forbidden_path: {denial}")
    denial = await agent.denied("hello__drop_tables")
    reason = "requested tool drop_tables on server hello is not in capability scope"
    check(reason in denial, f"another reason: {denial}")


async def main(command: list[str]) -> None:
    server = StdioServerParameters(command=command[0], args=command[1:])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        agent = Agent(session)
        for step in (opens, greets, works_with_files, redacts_secrets, denies, greets):
            await step(agent)
            print(f"ok {step.__name__}")


def failure(error: BaseException) -> BaseException:
    """What went wrong, without the groups that task groups wrap it in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        asyncio.run(asyncio.wait_for(main(sys.argv[1:]), TIMEOUT_SECONDS))
    except Exception as error:
        why = failure(error)
        print(f"{type(why).__name__}: {why}", file=sys.stderr)
        sys.exit(1)
