/**
 * A pass: shown on opening a connection by a node that knows `network.secret`, so that its handshake has a place that
 * strangers cannot take. It proves nothing more: the handshake itself proves the secret, over fresh nonces. Somebody on the
 * wire can replay a pass while it is fresh, but gains only a place in the queue.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { fromHex, isHex, toHex } from '../../lib/bytes.js';
import { type Clock, unixSeconds } from '../../lib/clock.js';
import type { Random } from '../../lib/random.js';

/** Seconds for which a pass is accepted, into the past and, because clocks differ, into the future. */
const FRESH_SECONDS = 300;
const NONCE_BYTES = 16;
const MAC_BYTES = 32;

export interface PassOptions {
  readonly network: string;
  readonly secret: string;
}

/** `<unix seconds>.<nonce>.<mac>` */
export function createPass(options: PassOptions, { clock, random }: { clock: Clock; random: Random }): string {
  const said = `${unixSeconds(clock)}.${toHex(random.bytes(NONCE_BYTES))}`;
  return `${said}.${toHex(macOf(options, said))}`;
}

export function isValidPass(pass: string, options: PassOptions, clock: Clock): boolean {
  const [time = '', nonce = '', mac = '', ...rest] = pass.split('.');
  if (rest.length > 0 || !/^\d{1,12}$/.test(time) || !isHex(nonce, NONCE_BYTES) || !isHex(mac, MAC_BYTES)) return false;
  if (Math.abs(unixSeconds(clock) - Number(time)) > FRESH_SECONDS) return false;
  return timingSafeEqual(macOf(options, `${time}.${nonce}`), fromHex(mac));
}

function macOf({ network, secret }: PassOptions, said: string): Buffer {
  return createHmac('sha3-256', secret).update(`tessera/peer/pass\0${network}\0${said}`).digest();
}
