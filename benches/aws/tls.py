"""Passes connections with TLS on to a port without.

    benches/aws/tls.py PORT TO CERTIFICATE KEY
"""

import asyncio
import ssl
import sys


async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def main(port, to, certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def connect(reader, writer):
        from_service, to_service = await asyncio.open_connection("127.0.0.1", int(to))
        await asyncio.gather(copy(reader, to_service), copy(from_service, writer))

    server = await asyncio.start_server(connect, "localhost", int(port), ssl=context)
    await server.serve_forever()


asyncio.run(main(*sys.argv[1:]))
