/** A mempool and a storage node that may have few files open, and more sockets than that. */

import { createConnection, type Socket } from 'node:net';
import { processFigures } from '../../soak/process-figures.js';
import { createNetwork, type NodeProcess, until } from '../../support/processes.js';
import { type Arena, WATCHED, type Watch } from '../arena.js';
import { type Attack, mustBe } from '../attack.js';
import { sleep } from '../node-watch.js';

const OPEN_FILES = 300;
const SOCKETS = 400;

function open(address: string): Socket[] {
  const { hostname, port } = new URL(address.includes('//') ? address : `http://${address}`);
  return Array.from({ length: SOCKETS }, () => {
    const socket = createConnection({ host: hostname, port: Number(port) });
    socket.on('error', () => undefined);
    return socket;
  });
}

async function attack(node: NodeProcess): Promise<void> {
  const sockets = [...open(node.peerAddress), ...open(node.apiUrl)];
  try {
    for (let i = 0; i < 8; i++) {
      await sleep(250);
      const { descriptors } = await processFigures(node.pid).catch(() => {
        throw new Error(`the ${node.role} node has ended:\n${node.log().slice(-2_000)}`);
      });
      mustBe(descriptors.all < OPEN_FILES - 50, `the ${node.role} node has ${descriptors.all} descriptors in use`);
    }
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

async function run(_arena: Arena, watch: Watch): Promise<void> {
  const network = await createNetwork({ openFiles: OPEN_FILES });
  try {
    const storage = await network.add('storage', 'storage', WATCHED);
    const mempool = await network.add('mempool', 'mempool', { ...WATCHED, 'peers.storage': storage.peerAddress });
    for (const node of [storage, mempool]) await watch.alsoAt(node);
    for (const node of [storage, mempool]) await attack(node);
    mustBe(mempool.log().includes(`may open ${OPEN_FILES} files`), 'the node said nothing of its few descriptors');
    for (const node of [storage, mempool]) {
      await until(`the ${node.role} node to answer again`, async () =>
        (await fetch(`${node.apiUrl}/livez`)).status === 200 ? true : undefined,
      );
    }
  } finally {
    await network.stopAll();
  }
}

export const fewDescriptors: Attack = { name: `${OPEN_FILES} descriptors and ${2 * SOCKETS} idle sockets`, run };
