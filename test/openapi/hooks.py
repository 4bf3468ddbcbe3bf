"""What Schemathesis must know of a dev network, so that its requests get beyond the first check.

Each request gets idempotency ids of its own (the same id with another body is refused, which is what ids are for), and
payments get the passphrase that the wallet has: a wrong one is answered later each time.
"""

import itertools
import re

import schemathesis

_ids = itertools.count(1)
_passphrase = ""

# Nothing listens there: requests to other nodes go no further.
_NOBODY = "127.0.0.1:1"


def _fresh_ids(headers):
    for name, value in list(headers.items()):
        if name.lower() == "x-cache-id" and re.fullmatch(r"[a-z0-9]{32}", str(value)):
            headers[name] = f"{next(_ids):032x}"
        if name.lower() == "idempotency-key" and 0 < len(str(value)) <= 255:
            headers[name] = f"schemathesis-{next(_ids)}"


def _is_negative(case):
    meta = case.meta
    return meta is not None and meta.generation.mode.is_negative


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.headers:
        _fresh_ids(case.headers)
    body = case.body
    if not isinstance(body, dict) or _is_negative(case):
        return
    for name in ("passphrase", "old_passphrase"):
        if isinstance(body.get(name), str):
            body[name] = _passphrase
    for name in ("address", "peer"):
        if re.fullmatch(r"[\d.]+:\d+", str(body.get(name))):
            body[name] = _NOBODY


@schemathesis.hook
def after_call(context, case, response):
    global _passphrase
    if response.status_code == 204 and case.operation.label == "PUT /v1/wallet/passphrase":
        _passphrase = case.body["new_passphrase"]
