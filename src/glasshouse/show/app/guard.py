"""Who may talk to the workbench: only a page that it served itself, to the browser that was given its address.

A page of another origin can send requests to 127.0.0.1, and a name can be made to point there. So every request must
name this machine and this port as its host, whatever changes something must come from a page of ours, and nothing is
answered that a browser says another site has asked for. Behind that stands the address itself: it holds 256 bits that
nobody can guess.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

CHANGES = ("POST", "PUT")
# Scripts, styles and requests of our own only; no frame around us, no form to elsewhere, nothing kept by the browser.
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def new_key() -> str:
    """A part of an address that nobody can guess."""
    return secrets.token_urlsafe(32)


def same_key(given: str, kept: str) -> bool:
    """Whether it is the key, in a time that tells nothing about it."""
    return secrets.compare_digest(given.encode("utf-8", "replace"), kept.encode())


def refusal(method: str, headers: Mapping[str, str], port: int, entrance: bool = False) -> str | None:
    """Why a request is not answered; None where it is.

    Parameters
    ----------
    method : str
        Of the request.
    headers : mapping of str to str
        Of the request, names in lower case.
    port : int
        Where the workbench listens.
    entrance : bool, default False
        Whether the address is the one that was printed. Another page may lead a person there (a notebook does), and
        what stands there shows nothing but the way on.

    Returns
    -------
    str or None
    """
    hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
    host = headers.get("host", "")
    if host not in hosts:
        return "this address is answered under its own name only"
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        return "another page may not talk to the workbench"
    if origin is None and method in CHANGES:
        return "a change must say which page it comes from"
    site = headers.get("sec-fetch-site", "none")
    led = entrance and method == "GET" and headers.get("sec-fetch-mode") == "navigate"
    if site not in ("none", "same-origin") and not led:
        return "another site may not ask for this"
    return None
