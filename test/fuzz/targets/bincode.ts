/**
 * Everything that is read from bytes of others: the structures of the chain and the lists in messages. An input is the
 * number of a codec and its bytes. They are refused as malformed, or they are exactly the encoding of what was read from
 * them, in which case the JSON form leads back to the same value too.
 */

import * as codec from '../../../src/chain/codec.js';
import {
  decodeTransactions,
  decodeUtxos,
  encodeTransactions,
  encodeUtxos,
} from '../../../src/chain/decode-in-pieces.js';
import { scriptJson, transactionJson } from '../../../src/chain/json.js';
import { parseScript, parseTransaction } from '../../../src/chain/json-read.js';
import { parseExactJson } from '../../../src/lib/json.js';
import { joinBlocks, splitBlocks } from '../../../src/peers/messages.js';
import * as arbitraries from '../../support/arbitraries.js';
import * as parts from '../../support/codec-parts.js';
import { decodeFullBlock, encodeFullBlock } from '../../support/full-block.js';
import { fc } from '../../support/property.js';
import { type Codec, codecOf, codecTarget, isEqual } from '../codecs.js';
import { mustBe } from '../target.js';

const list = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(arbitrary, { maxLength: 3 });
const utxo = fc.tuple(arbitraries.outPoint, arbitraries.txOut);

const CODECS: readonly Codec[] = [
  codecOf('transaction', arbitraries.transaction, codec.encodeTransaction, codec.decodeTransaction, (tx) => {
    const again = parseTransaction(parseExactJson(transactionJson(tx)));
    mustBe(
      isEqual(codec.encodeTransaction(again), codec.encodeTransaction(tx)),
      'the JSON form is another transaction',
    );
  }),
  codecOf('block', arbitraries.block, codec.encodeBlock, codec.decodeBlock),
  codecOf('full block', arbitraries.fullBlock, encodeFullBlock, decodeFullBlock),
  codecOf('header', arbitraries.header, codec.encodeHeader, codec.decodeHeader),
  codecOf(
    'header of prime',
    arbitraries.header,
    (header) => codec.encodeHeader({ ...header, layout: 'prime' }),
    codec.decodeHeader,
  ),
  codecOf('script', arbitraries.script, codec.encodeScript, codec.decodeScript, (script) => {
    const again = parseScript(parseExactJson(scriptJson(script)));
    mustBe(isEqual(codec.encodeScript(again), codec.encodeScript(script)), 'the JSON form is another script');
  }),
  codecOf('DRUID info', arbitraries.druidInfo, parts.encodeDruidInfo, parts.decodeDruidInfo),
  codecOf('transactions', list(arbitraries.transaction), encodeTransactions, decodeTransactions),
  codecOf('utxos', list(utxo), encodeUtxos, decodeUtxos),
  codecOf('blocks', list(fc.uint8Array({ maxLength: 60 })), blocksAttachment, (bytes) =>
    splitBlocks(bytes.subarray(1), bytes[0] ?? 1),
  ),
];

/** The number of blocks, which is in the body of the message, stands before the attachment. */
function blocksAttachment(blocks: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat([Uint8Array.of(blocks.length), joinBlocks(blocks)]);
}

export const bincode = codecTarget('bincode', CODECS, ['malformed_transaction', 'protocol_violation']);
