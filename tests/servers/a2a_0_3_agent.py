"""An agent behind the published A2A server of 0.3 (a2a-sdk 0.3), in a process of its own.

That version cannot stand beside the one for 1.0: BIOEVAL_A2A_0_3_PYTHON names the Python of an
environment of its own. This file is what that Python runs; what the agent does is the user's
message.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def a2a_0_3_agent(*, streaming: bool = True) -> Iterator[str]:
    """Run the agent; give its address."""
    command = [os.environ["BIOEVAL_A2A_0_3_PYTHON"], __file__, "stream" if streaming else "whole"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            assert url, "the agent did not start"
            yield url
        finally:
            process.kill()


def main(streaming: bool) -> None:
    """Serve the agent. The packages are those of its own environment."""
    import uvicorn
    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.apps import A2AStarletteApplication
    from a2a.server.request_handlers import DefaultRequestHandler
    from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
    from a2a.types import (
        AgentCapabilities,
        AgentCard,
        AgentSkill,
        DataPart,
        Part,
        TaskState,
        TextPart,
    )
    from a2a.utils import new_agent_text_message, new_task

    cancelled: list[str] = []

    class Executor(AgentExecutor):
        async def execute(self, context, event_queue):
            asked = context.get_user_input()
            if asked == "a message":
                await event_queue.enqueue_event(
                    new_agent_text_message("Hello.", context_id=context.context_id)
                )
                return
            if asked == "what was cancelled":
                said = f"{len(cancelled)} tasks"
                await event_queue.enqueue_event(
                    new_agent_text_message(said, context_id=context.context_id)
                )
                return
            task = context.current_task or new_task(context.message)
            if context.current_task is None:
                await event_queue.enqueue_event(task)
            updater = TaskUpdater(event_queue, task.id, task.context_id)

            def text(words):
                return updater.new_agent_message([Part(root=TextPart(text=words))])

            await updater.start_work(text("Looking…"))
            if asked == "never end":
                await updater.add_artifact(
                    [Part(root=TextPart(text="One moment"))], artifact_id=f"a-{updater.task_id}"
                )
                await asyncio.Event().wait()
            if asked == "ask back":
                await updater.requires_input(text("Which time zone?"))
            elif asked in ("failed", "rejected", "auth_required"):
                await updater.update_status(getattr(TaskState, asked), text("No luck"), final=True)
            else:
                call = DataPart(
                    data={"id": "c1", "name": "lookUp", "args": {"dose": 5.0}},
                    metadata={"adk_type": "function_call"},
                )
                await updater.update_status(
                    TaskState.working, updater.new_agent_message([Part(root=call)])
                )
                for number, piece in enumerate(("Aspirin ", "interacts ", "with it.")):
                    await updater.add_artifact(
                        [Part(root=TextPart(text=piece))],
                        artifact_id=f"a-{updater.task_id}",
                        append=number > 0,
                        last_chunk=number == 2,
                    )
                await updater.complete(text("Ask me more."))

        async def cancel(self, context, event_queue):
            cancelled.append(context.task_id)
            await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()

    listens = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listens.getsockname()[1]}"
    card = AgentCard(
        name="Test agent", description="Does what it is told.", version="1", url=f"{url}/", skills=[
            AgentSkill(id="talk", name="Talk", description="It talks.", tags=["talk"])
        ],
        capabilities=AgentCapabilities(streaming=streaming),
        default_input_modes=["text/plain"], default_output_modes=["text/plain"],
    )  # fmt: skip
    handler = DefaultRequestHandler(Executor(), InMemoryTaskStore())
    config = uvicorn.Config(A2AStarletteApplication(card, handler).build(), log_level="critical")
    print(url, flush=True)
    uvicorn.Server(config).run(sockets=[listens])


if __name__ == "__main__":
    main(sys.argv[1] == "stream")
