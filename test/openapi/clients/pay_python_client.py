"""Sends a signed payment with the client that openapi-python-client has made. Arguments: base URL, file of the request, hash."""

import json
import sys
import time
from pathlib import Path

from generated import Client
from generated.api.mempool import create_transactions, get_supply, get_transaction_status
from generated.models import CreateTransactionsAnswer, CreateTransactionsRequest, SupplyAnswer, TxStatusMap

base_url, file, tx_hash = sys.argv[1:]

with Client(base_url=base_url, raise_on_unexpected_status=True) as client:
    request = CreateTransactionsRequest.from_dict(json.loads(Path(file).read_text()))
    sent = create_transactions.sync(client=client, body=request)
    assert isinstance(sent, CreateTransactionsAnswer), sent
    while True:
        statuses = get_transaction_status.sync(client=client, hash_=[tx_hash])
        assert isinstance(statuses, TxStatusMap), statuses
        known = statuses.additional_properties.get(tx_hash)
        if known is not None and known.status == "Confirmed":
            break
        time.sleep(0.05)
    supply = get_supply.sync(client=client)
    assert isinstance(supply, SupplyAnswer), supply
    print(supply.issued, end="")
