"""Serve the built site on loopback as a host would: gzip, caching headers, keep-alive.

python -m tools.site.server [folder] [port]
"""

from __future__ import annotations

import gzip
import http.server
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

TYPES = {
    "": "application/octet-stream",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ipynb": "application/x-ipynb+json",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
    ".xml": "text/xml",
}
COMPRESSED = TYPES.keys() - {"", ".woff2"}


@lru_cache(maxsize=100)
def compressed(body: bytes) -> bytes:
    return gzip.compress(body, 6)


class Handler(http.server.SimpleHTTPRequestHandler):
    """GET with gzip for text, and ten minutes of cache, as GitHub Pages does."""

    protocol_version = "HTTP/1.1"
    extensions_map = TYPES

    def handle(self) -> None:
        with suppress(ConnectionError):  # a browser that leaves hears no more
            super().handle()

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if path.is_dir() and self.path.split("?")[0].endswith("/"):
            path = path / "index.html"
        if not path.is_file():
            self.send_error(404)
            return
        body = self.body(path)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Cache-Control", "max-age=600")
        if path.suffix in COMPRESSED and "gzip" in self.headers.get("Accept-Encoding", ""):
            body = compressed(body)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Vary", "Accept-Encoding")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self, path: Path) -> bytes:
        return path.read_bytes()

    def log_message(self, *args: Any) -> None:
        """Log nothing: the caller prints what matters."""


@contextmanager
def serving(folder: str | Path, port: int = 0, answer: type[Handler] = Handler) -> Iterator[str]:
    """Serve `folder` on 127.0.0.1 in a thread; yields the base address. Port 0 picks a free one."""
    folder = Path(folder)
    if not (folder / "index.html").is_file():
        raise ValueError(f"folder={str(folder)!r} holds no index.html: run make book first")

    def handler(*args: Any) -> Handler:
        return answer(*args, directory=str(folder))

    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "_build/html"
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 8000
    with serving(folder, port) as base:
        print(f"{base}/  (Ctrl-C stops it)")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print()
