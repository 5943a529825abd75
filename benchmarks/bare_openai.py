"""The bare script of `throughput.py` as most people would write it: the openai package for the
models, aiohttp for the agent.

Takes the arguments that `throughput.py --bare` takes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path
from typing import Any

import aiohttp
import openai
from throughput import hold


async def bare(url: str, requests: list[dict[str, Any]], conversations: int) -> None:
    """Send the requests of so many conversations at once."""
    models = openai.AsyncOpenAI(
        api_key="none",
        base_url=f"{url}/v1",
        max_retries=0,
        http_client=openai.DefaultAioHttpClient(),
    )

    async def ask_model(body: dict[str, Any]) -> None:
        answer = await models.chat.completions.create(**body)
        if body.get("stream"):
            async for _ in answer:
                pass

    async def one() -> None:
        async with aiohttp.ClientSession() as agent:

            async def ask_agent(method: str, address: str, body: Any) -> Any:
                async with agent.request(method, address, json=body) as response:
                    return await response.json()

            await hold(ask_agent, url, requests, ask_model)

    async with models:
        began = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(conversations)))
        print(json.dumps(time.perf_counter() - began))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bare", type=Path)
    parser.add_argument("--url")
    parser.add_argument("--conversations", type=int)
    options = parser.parse_args()
    asyncio.run(bare(options.url, json.loads(options.bare.read_text()), options.conversations))
