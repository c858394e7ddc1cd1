"""The yardstick: an aiohttp low-level server that decodes the body with orjson and answers a fixed review; TLS, uvloop, one process."""

import asyncio
import gc
import ssl
import sys

import orjson
import uvloop
from aiohttp import web


async def answer(request: web.BaseRequest) -> web.Response:
    """Decodes the review and returns an answer with its uid."""
    review = orjson.loads(await request.read())
    response = {"uid": review["request"]["uid"], "allowed": True, "status": {"code": 200}}
    answered = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    return web.Response(body=orjson.dumps(answered), content_type="application/json")


async def serve(folder: str) -> None:
    """Serves on a free port until killed; prints `ready https://HOST:PORT` on stderr."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/tls.crt", f"{folder}/tls.key")
    server = await asyncio.get_running_loop().create_server(web.Server(answer), "127.0.0.1", 0, ssl=context)
    gc.collect()
    gc.freeze()
    print(f"ready https://127.0.0.1:{server.sockets[0].getsockname()[1]}", file=sys.stderr, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[sys.argv.index("--cert-dir") + 1]))
