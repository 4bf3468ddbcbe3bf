"""Pays with the client that openapi-python-client has made of openapi/network.json. Arguments: base URL, address, amount."""

import json
import sys
import time

from generated import Client
from generated.api.mempool import get_supply, get_transaction_status
from generated.api.payments import create_payment
from generated.models import PaymentAcceptedAnswer, PaymentRequest, PaymentRequestKind, SupplyAnswer, TxStatusMap

base_url, address, amount = sys.argv[1:]

with Client(base_url=base_url, raise_on_unexpected_status=True) as client:
    order = PaymentRequest(kind=PaymentRequestKind.ADDRESS, address=address, amount=int(amount), passphrase="")
    accepted = create_payment.sync(client=client, body=order)
    assert isinstance(accepted, PaymentAcceptedAnswer), accepted
    while True:
        statuses = get_transaction_status.sync(client=client, hash_=[accepted.tx_hash])
        assert isinstance(statuses, TxStatusMap), statuses
        known = statuses.additional_properties.get(accepted.tx_hash)
        if known is not None and known.status == "Confirmed":
            break
        time.sleep(0.05)
    supply = get_supply.sync(client=client)
    assert isinstance(supply, SupplyAnswer), supply
    # Integers of Python are exact.
    print(json.dumps({"hash": accepted.tx_hash, "paid": str(accepted.amount.amount), "issued": str(supply.issued)}))
