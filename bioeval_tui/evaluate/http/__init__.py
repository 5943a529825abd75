"""The one way to ask over HTTP, for agents and models alike: httpx2 over aiohttp, bounded in time and bytes."""
