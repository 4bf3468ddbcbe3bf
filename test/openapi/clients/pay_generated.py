"""Sends a signed payment with the client that openapi-generator has made. Arguments: base URL, file of the request, hash."""

import sys
import time
from pathlib import Path

from openapi_client import ApiClient, Configuration, MempoolApi
from openapi_client.models import CreateTransactionsRequest

base_url, file, tx_hash = sys.argv[1:]

with ApiClient(Configuration(host=base_url)) as client:
    node = MempoolApi(client)
    node.create_transactions(CreateTransactionsRequest.from_json(Path(file).read_text()))
    while True:
        known = node.get_transaction_status(hash=[tx_hash]).get(tx_hash)
        if known is not None and known.status == "Confirmed":
            break
        time.sleep(0.05)
    print(node.get_supply().issued, end="")
