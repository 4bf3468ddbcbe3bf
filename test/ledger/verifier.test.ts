import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { BroadcastChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { OP } from '../../src/chain/script/opcodes.js';
import type { ScriptCheck, SignatureCheck } from '../../src/chain/validation.js';
import { keyPairFromSeed, sign } from '../../src/crypto/ed25519.js';
import { AHEAD, Verifier } from '../../src/ledger/verifier/verifier.js';
import { encodeChecks, runEncodedChecks } from '../../src/ledger/verifier/verify-batch.js';

const key = keyPairFromSeed(new Uint8Array(32).fill(7));

function signatureCheck(message: string, signed = message): SignatureCheck {
  return { kind: 'signature', message, signature: sign(key.seed, signed), publicKey: key.publicKey };
}

const TRUE: ScriptCheck = { kind: 'script', script: [{ kind: 'num', value: 1n }] };
const FLOOD = signatureCheck('flood');
const BURN: ScriptCheck = { kind: 'script', script: [{ kind: 'op', op: OP.BURN }] };

describe('a batch of checks', () => {
  it('keeps order and outcome through its bytes', () => {
    const checks = [
      signatureCheck('a'),
      BURN,
      signatureCheck('b', 'c'),
      TRUE,
      signatureCheck('žluť'),
      signatureCheck(''),
    ];
    expect([...runEncodedChecks(encodeChecks(checks))]).toEqual([1, 0, 0, 1, 1, 1]);
  });

  it('may be empty', () => {
    expect([...runEncodedChecks(encodeChecks([]))]).toEqual([]);
  });
});

describe.each([0, 1, 2])('the verifier with %i threads', (threads) => {
  let verifier: Verifier | undefined;
  afterEach(() => verifier?.close());

  it('gives every caller the verdict on its own checks', async () => {
    verifier = new Verifier({ threads });
    const current = verifier;
    const verdicts = await Promise.all(
      Array.from({ length: 300 }, (_, i) => {
        const good = i % 7 !== 0;
        const checks = [signatureCheck(`m${i}`), good ? TRUE : signatureCheck(`m${i}`, 'other')];
        return current.verify(checks.slice(0, 1 + (i % 2)).concat(good ? [] : [BURN]));
      }),
    );
    expect(verdicts).toEqual(Array.from({ length: 300 }, (_, i) => i % 7 !== 0));
  });

  it('leaves signatures that take milliseconds to the threads, and none of them to the event loop', async () => {
    verifier = new Verifier({ threads });
    const dear = Array.from({ length: 12 }, (_, i): SignatureCheck => {
      const check = signatureCheck(`dear ${i}`);
      // An R of small order, or a key of small order.
      if (i % 2 === 0)
        return { ...check, signature: Uint8Array.of(1, ...new Uint8Array(31), ...check.signature.slice(32)) };
      return { ...check, publicKey: Uint8Array.of(1, ...new Uint8Array(31)) };
    });
    const current = verifier;
    const { main } = current.ran;
    expect(await Promise.all(dear.map((check) => current.verify([check])))).toEqual(dear.map(() => false));
    expect(current.ran.main).toBe(main);
  });

  it('lets senders take turns: one check does not wait for a thousand of somebody else', async () => {
    verifier = new Verifier({ threads });
    const flood = verifier
      .verify(
        Array.from({ length: 1_000 }, () => FLOOD),
        'flood',
      )
      .then(() => 'flood');
    const honest = verifier.verify([signatureCheck('honest')], 'honest').then(() => 'honest');
    expect(await Promise.race([flood, honest])).toBe('honest');
    await flood;
  });

  it('runs a script once, whatever transactions it is in', async () => {
    verifier = new Verifier({ threads });
    const current = verifier;
    expect(await current.verify([BURN])).toBe(false);
    expect(await current.verify([TRUE])).toBe(true);
    const { worker } = current.ran;
    const again = await Promise.all(Array.from({ length: 50 }, (_, i) => current.verify([i % 2 === 0 ? BURN : TRUE])));
    expect(again).toEqual(Array.from({ length: 50 }, (_, i) => i % 2 === 1));
    expect(current.ran.worker).toBe(worker);
    expect(await current.verify([signatureCheck('a'), BURN])).toBe(false);
    expect(await current.verify([signatureCheck('a'), TRUE])).toBe(true);
  });

  it('verifies a signature once, whatever transactions it is in, and tells apart what differs in key, text or signature', async () => {
    verifier = new Verifier({ threads });
    const current = verifier;
    const ran = (): number => current.ran.worker + current.ran.main;
    const good = signatureCheck('a');
    const bad = signatureCheck('a', 'another');
    expect(await current.verify([good])).toBe(true);
    expect(await current.verify([bad])).toBe(false);
    expect(ran()).toBe(2);
    const forms = Array.from({ length: 500 }, (_, i) => current.verify([i % 2 === 0 ? good : bad]));
    expect(await Promise.all(forms)).toEqual(Array.from({ length: 500 }, (_, i) => i % 2 === 0));
    expect(ran()).toBe(2);
    const other = keyPairFromSeed(new Uint8Array(32).fill(8));
    expect(await current.verify([{ ...good, publicKey: other.publicKey }])).toBe(false);
    expect(await current.verify([{ ...good, message: 'b' }])).toBe(false);
    expect(ran()).toBe(4);
  });

  it('verifies few of a thousand copies of a signature that come at once', async () => {
    verifier = new Verifier({ threads });
    const current = verifier;
    const copies = Array.from({ length: 1_000 }, () => current.verify([FLOOD]));
    expect((await Promise.all(copies)).every((holds) => holds)).toBe(true);
    expect(current.ran.worker + current.ran.main).toBeLessThan(150 * (threads + 1));
  });

  it('leaves what nobody waits for yet to the threads, where there are some, and knows it when somebody does', async () => {
    verifier = new Verifier({ threads });
    for (let round = 0; round === 0 || (threads > 0 && verifier.ran.worker === 0); round++) {
      await verifier.verify(Array.from({ length: 100 }, (_, i) => signatureCheck(`${round} ${i}`)));
    }
    const checks = Array.from({ length: 100 }, (_, i) => signatureCheck(`ahead ${i}`));
    const { main, worker } = verifier.ran;
    const [isThere, total] = [threads > 0, main + worker + 90];
    verifier.verify(checks, AHEAD).catch(() => undefined);
    while (verifier.ran.main + verifier.ran.worker < total) await setImmediate();
    if (isThere) expect(verifier.ran.main).toBe(main);
    expect(await verifier.verify(checks)).toBe(true);
    expect(verifier.ran.main + verifier.ran.worker).toBeLessThan(total + 50);
  });

  it('holds for no checks, and refuses work once it is closed', async () => {
    verifier = new Verifier({ threads });
    expect(await verifier.verify([])).toBe(true);
    await verifier.close();
    await expect(verifier.verify([TRUE])).rejects.toMatchObject({ code: 'shutting_down' });
  });

  it('rejects what is under way when it is closed', async () => {
    verifier = new Verifier({ threads });
    const current = verifier;
    const waiting = Promise.allSettled(
      Array.from({ length: 200 }, (_, i) => current.verify([signatureCheck(`m${i}`)])),
    );
    await current.close();
    const outcomes = await waiting;
    expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'shutting_down' });
    }
  });
});

describe('a thread that is slow', () => {
  it('keeps nothing waiting that was verified in its turn', async () => {
    const channel = new BroadcastChannel(randomUUID());
    onTestFinished(() => channel.close());
    const busy = once(channel as unknown as EventTarget, 'message');
    const program = `import { BroadcastChannel, parentPort } from 'node:worker_threads';
      const channel = new BroadcastChannel('${channel.name}');
      parentPort.on('message', () => channel.postMessage('busy'));
      parentPort.postMessage({ ready: true });`;
    const verifier = new Verifier(
      { threads: 1 },
      { program: new URL(`data:text/javascript,${encodeURIComponent(program)}`) },
    );
    onTestFinished(() => verifier.close());
    const checks: SignatureCheck[] = [];
    let isBusy = false;
    void busy.then(() => {
      isBusy = true;
    });
    // The main thread takes all until the thread has started.
    for (let i = 0; !isBusy; i++) {
      checks.push(signatureCheck(`early ${i}`));
      verifier.verify(checks.slice(-1), AHEAD).catch(() => undefined);
      if (i % 200 === 0) await setImmediate();
    }
    const waiting = Array.from({ length: 400 }, (_, i) => signatureCheck(`later ${i}`));
    checks.push(...waiting);
    let left = waiting.length;
    for (const check of waiting) {
      const settled = () => void left--;
      verifier.verify([check], AHEAD).then(settled, () => undefined);
    }
    expect(await verifier.verify(checks)).toBe(true);
    expect(left).toBe(waiting.length);
    verifier.verify([FLOOD], AHEAD).catch(() => undefined);
    await setImmediate();
    expect(left).toBe(0);
  });
});
