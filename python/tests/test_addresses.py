"""Clients that have several addresses of servers."""
from __future__ import annotations

import http.server
import threading
from typing import Iterator

import pytest

import muster.rest.http as rest
from muster.rest.http import Http, NoServer, ServerError

NOBODY = "http://127.0.0.1:1"


class Place:
    """A server that is ready or not, and counts its requests."""

    def __init__(self, ready: bool) -> None:
        self.ready, self.asked = ready, 0
        place = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path != "/readyz":
                    place.asked += 1
                self.send_response(200 if place.ready else 503)
                self.end_headers()
                self.wfile.write(b'{"code":"UNAVAILABLE"}' if not place.ready else b'{"here":1}')

            do_POST = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def pair() -> Iterator[tuple[Place, Place]]:
    places = Place(False), Place(True)
    yield places
    for place in places:
        place.close()


def test_client_asks_the_server_that_serves(pair: tuple[Place, Place]) -> None:
    a, b = pair
    client = Http(f"{NOBODY},{a.url}/,{b.url}")
    assert client.json("GET", "/x") == {"here": 1}
    assert (a.asked, b.asked) == (0, 1)


def test_client_follows_the_serving_server_and_returns(pair: tuple[Place, Place]) -> None:
    a, b = pair
    client = Http(f"{a.url},{b.url}")
    client.json("POST", "/x", {})
    a.ready, b.ready = True, False
    client.json("POST", "/x", {})  # the second server answers that it does not serve
    assert client.url == a.url
    a.ready, b.ready = False, True
    client.json("GET", "/x")
    assert client.url == b.url


def test_error_of_the_only_serving_server_is_raised(pair: tuple[Place, Place],
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = pair
    client = Http(f"{a.url},{b.url}")
    client.json("GET", "/x")
    b.ready = False
    monkeypatch.setattr(rest, "FAIL_OVER_SECONDS", 0.0)
    with pytest.raises(NoServer, match="none of the servers .* is ready"):
        client.json("GET", "/x")
    with pytest.raises(ServerError):
        Http(a.url).json("GET", "/x")


def test_request_that_changes_something_is_not_repeated() -> None:
    a, b = Place(True), Place(True)
    client = Http(f"{a.url},{b.url}")
    client.json("GET", "/x")
    a.close()
    with pytest.raises(NoServer):
        client.json("POST", "/x", {})
    client.json("POST", "/x", {})
    assert b.asked == 1
    b.close()


def test_only_server_is_waited_for_if_it_has_answered_before(
        pair: tuple[Place, Place], monkeypatch: pytest.MonkeyPatch) -> None:
    away, place = pair
    client = Http(place.url)
    client.json("GET", "/x")
    place.ready = False
    threading.Timer(0.3, lambda: setattr(place, "ready", True)).start()
    assert client.json("GET", "/x") == {"here": 1}
    with pytest.raises(ServerError):
        Http(away.url).json("GET", "/x")  # a server that never answered is not waited for
    place.ready = False
    monkeypatch.setattr(rest, "FAIL_OVER_SECONDS", 0.1)
    with pytest.raises(NoServer):
        client.json("GET", "/x")
