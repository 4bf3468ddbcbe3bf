/** Encodings of the parts of a transaction, which the program writes and reads only within one. */

import * as codec from '../../src/chain/codec.js';

export const encodeOutPoint = codec.encoder(codec.writeOutPoint);
export const decodeOutPoint = codec.decoder(codec.readOutPoint);
export const encodeAsset = codec.encoder(codec.writeAsset);
export const decodeAsset = codec.decoder(codec.readAsset);
export const encodeTxIn = codec.encoder(codec.writeTxIn);
export const decodeTxIn = codec.decoder(codec.readTxIn);
export const encodeExpectation = codec.encoder(codec.writeExpectation);
export const encodeDruidInfo = codec.encoder(codec.writeDruidInfo);
export const decodeDruidInfo = codec.decoder(codec.readDruidInfo);
