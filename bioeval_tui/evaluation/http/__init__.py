"""The HTTP client for agents and models: httpx2 over aiohttp, with limits on time and size."""
