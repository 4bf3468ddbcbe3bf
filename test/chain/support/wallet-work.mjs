/** What a client library needs of the chain: addresses, payments, creations, hashes, signatures, bytes and back. */

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** `load` imports a module of the program by its path. */
export async function walletWork(load) {
  const [address, assets, builders, codec, createTransaction, hash, keys, transaction, validation, unicorn] =
    await Promise.all(
      [
        'chain/address.js',
        'chain/assets.js',
        'chain/builders.js',
        'chain/codec.js',
        'chain/create-transaction.js',
        'chain/hash.js',
        'crypto/ed25519.js',
        'chain/transaction.js',
        'chain/validation.js',
        'chain/unicorn.js',
      ].map(load),
    );
  const pair = keys.keyPairFromSeed(Uint8Array.from({ length: 32 }, (_, i) => i * 7));
  const addresses = [null, 0, 99_999].map((version) => address.addressOf(pair.publicKey, version));
  const outPoint = { tHash: `g${'0'.repeat(31)}`, n: 0 };
  const outputs = [
    builders.txOut(assets.tokenAsset(360_360_000_000_000_000n), addresses[0]),
    builders.txOut(assets.itemAsset(2n, 'gé€😀 "quoted"'), address.BURN_ADDRESS, 5n),
  ];
  const signing = new Map([[transaction.outPointKey(outPoint), pair]]);
  const payment = builders.assembleSigned({ inputs: [builders.unsignedInput(outPoint)], outputs }, signing);
  const creation = builders.createItemTransaction(
    { bNum: 3n, amount: 5n, spec: 'Create', metadata: 'é'.repeat(90) },
    pair,
  );
  const bytes = codec.encodeTransaction(payment);
  const body = createTransaction.transactionToCreateJson(payment);
  const plan = validation.planCreateValidation(creation);
  const seed = unicorn.unicornSeed({ transactions: [outPoint.tHash], participants: ['é'], winners: [] });
  const { g, witness } = unicorn.createUnicorn(seed, { modulus: unicorn.DEFAULT_MODULUS, iterations: 2 });
  return {
    publicKey: hex(pair.publicKey),
    secretKey: hex(keys.encodePkcs8(pair)),
    readBack: hex(keys.parseSecretKey(keys.encodePkcs8(pair)).seed),
    addresses,
    bytes: hex(bytes),
    again: hex(codec.encodeTransaction(codec.decodeTransaction(bytes))),
    submitted: hex(codec.encodeTransaction(createTransaction.parseCreateTransaction(body))),
    hashes: [payment, creation].map((tx) => hash.transactionHash(tx)),
    roots: [hash.merkleRoot(['a', 'b', 'é']), hash.txsHash([])],
    signatures: plan.checks.map((check) => [check.message, hex(check.signature), validation.runCheck(check)]),
    fault: plan.fault,
    draw: [String(witness), String(unicorn.drawNumber(g, 3))],
  };
}
