/** Handshakes with more, or other things, in them than there should be. */

import { encodeTransactions } from '../../../src/chain/decode-in-pieces.js';
import { systemRandom } from '../../../src/lib/random.js';
import { decodeControl } from '../../../src/peers/link/frames.js';
import { createHello, createProof } from '../../../src/peers/link/handshake.js';
import type { Arena } from '../arena.js';
import { type Attack, mustBe } from '../attack.js';
import { sleep } from '../node-watch.js';
import { connect, messageFrame, openRawLink } from '../raw-link.js';
import { publicIdentity } from '../stranger.js';
import { creations } from '../submit.js';

const PATIENCE_MS = 30_000;
/** Larger than what a connection may send before its handshake is done. */
const CREATIONS = 1_000;
const ESCAPES = '\u001b[2J\u001b]0;owned\u0007\u202e';

/** A large message in the same breath as the end of the handshake: it is a message, and no part of the handshake. */
async function sendRightBehind({ mempool, scale }: Arena): Promise<void> {
  for (let i = 0; i < 2 + scale; i++) {
    const frame = messageFrame({ t: 'transactions.submit', id: 1, b: {} }, encodeTransactions(creations(CREATIONS)));
    const link = await openRawLink(mempool.peerAddress, 'user', frame);
    const answered = (async () => {
      while (link.received.count === 0) await sleep(20);
      return '';
    })();
    const end = await Promise.race([answered, link.ended, sleep(PATIENCE_MS).then(() => 'no answer came')]);
    link.connection.cut('the attack is over');
    mustBe(end === '', `a message right behind the handshake: ${end}`);
  }
}

/** A stranger of other rules, which is told so, and one whose every text would write on the operator's terminal. */
async function shakeHandsBadly({ mempool, storage, user }: Arena): Promise<void> {
  const { rules, ...identity } = await publicIdentity('user');
  for (const name of Object.keys(rules)) {
    const refusal = await refusalOf(mempool.peerAddress, { ...identity, rules: { ...rules, [name]: 'another' } });
    mustBe(refusal.includes(name), `another ${name}: ${refusal || 'taken'}`);
  }
  for (const node of [mempool, storage, user]) {
    for (const change of [{ network: ESCAPES }, { rules: { [ESCAPES]: ESCAPES } }]) {
      const refusal = await refusalOf(node.peerAddress, { ...identity, rules, ...change });
      mustBe(refusal !== '', `a handshake of escapes was taken by the ${node.role} node`);
    }
    const farewell = await connect(node.peerAddress);
    farewell.send(JSON.stringify({ k: 'bye', reason: ESCAPES }));
    await new Promise<void>((resolve) => farewell.onClose(() => resolve()));
    mustBe(!/\\u001b|\\u0007|\u202e/.test(node.log()), `what a stranger wrote is in the log of the ${node.role} node`);
  }
}

/** Why the node refuses a handshake; '' when it takes it. */
async function refusalOf(address: string, identity: Parameters<typeof createHello>[0]): Promise<string> {
  const connection = await connect(address);
  const hello = createHello(identity, systemRandom);
  // First: the node's own hello may be waiting already.
  connection.send(JSON.stringify(hello));
  const end = new Promise<string>((resolve) => {
    connection.onClose(resolve);
    connection.onMessage((frame) => {
      if (typeof frame !== 'string') return;
      const control = decodeControl(frame);
      if (control.k === 'hello')
        connection.send(JSON.stringify(createProof(identity, 'dialer', { dialer: hello, listener: control })));
      else if (control.k === 'bye') resolve(control.reason);
      else if (control.k === 'ready') resolve('');
    });
  });
  const refusal = await end;
  connection.cut('the attack is over');
  return refusal;
}

export const rightBehind: Attack = { name: 'a large message right behind a handshake', run: sendRightBehind };
export const badHandshakes: Attack = { name: 'handshakes of other rules, and of escapes', run: shakeHandsBadly };
