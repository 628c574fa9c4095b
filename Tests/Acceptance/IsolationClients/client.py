"""Gets and posts by the client that is named: client.py urllib|requests|httpx|aiohttp URL"""

import sys

kind, base = sys.argv[1:]
get, post, data = f"{base}/get?client={kind}", f"{base}/post", f"from {kind}".encode()

if kind == "urllib":
    import urllib.request

    print(urllib.request.urlopen(get).read().decode())
    print(urllib.request.urlopen(post, data).read().decode())
elif kind == "requests":
    import requests

    with requests.Session() as session:
        print(session.get(get).text)
        print(session.post(post, data=data).text)
elif kind == "httpx":
    import httpx

    with httpx.Client() as client:
        print(client.get(get).text)
        print(client.post(post, content=data).text)
else:
    import asyncio

    import aiohttp

    async def main():
        async with aiohttp.ClientSession() as session:
            async with session.get(get) as answer:
                print(await answer.text())
            async with session.post(post, data=data) as answer:
                print(await answer.text())

    asyncio.run(main())
