/** A storage node as small as a wallet's tests allow: it hands out the blocks of a fake mempool node, or what a test makes of them. */

import { encodeHeader } from '../../src/chain/codec.js';
import type { FullBlock } from '../../src/chain/types.js';
import { joinBlocks } from '../../src/peers/messages.js';
import type { PeerNetwork } from '../../src/peers/network.js';
import { encodeFullBlock } from './full-block.js';
import type { WholeBlock } from './wallet-fixtures.js';

export interface FakeStorage {
  /** Blocks that were handed out. */
  readonly given: number[];
  /** Has no more blocks than these. */
  end: number;
  /** Blocks in one answer. */
  most: number;
  /** Whose certificates it has. */
  hasCertificate: (height: number) => boolean;
  /** Changes a block before it is handed out. */
  alter: (full: FullBlock) => FullBlock;
}

export function createFakeStorage(network: PeerNetwork, blocks: ReadonlyMap<number, WholeBlock>): FakeStorage {
  const fake: FakeStorage = {
    given: [],
    end: Number.POSITIVE_INFINITY,
    most: 3,
    hasCertificate: () => true,
    alter: (full) => full,
  };
  const some = (from: number, count: number): readonly WholeBlock[] => {
    const heights = Array.from({ length: Math.min(count, fake.most) }, (_, i) => from + i);
    return heights.flatMap((height) => (height < fake.end ? (blocks.get(height) ?? []) : []));
  };
  const certificateAt = (height: number) => (fake.hasCertificate(height) ? blocks.get(height)?.certificate : undefined);
  network.handle('headers.get', (_, { body: { from, count } }) => {
    const headers = some(from, count).map(({ full }) => encodeHeader(full.block.header));
    const certificate = certificateAt(from + headers.length - 1);
    const body = { from, count: headers.length, ...(certificate && { certificate }) };
    return { type: 'headers', body, attachment: joinBlocks(headers) };
  });
  network.handle('blocks.get', (_, { body: { from, count } }) => {
    const found = some(from, count);
    found.forEach((_block, i) => void fake.given.push(from + i));
    const certificates = found.flatMap((_block, i) => {
      const certificate = certificateAt(from + i);
      return certificate === undefined ? [] : [{ block_num: from + i, certificate }];
    });
    const attachment = joinBlocks(found.map(({ full }) => encodeFullBlock(fake.alter(full))));
    return { type: 'blocks', body: { from, count: found.length, certificates }, attachment };
  });
  return fake;
}
