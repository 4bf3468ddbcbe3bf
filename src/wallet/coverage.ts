/** Coverage of the wallet by its words, and its backup file, which has the rest. */

import { sealBackup, type WalletBackup } from './backup-file.js';
import { TOKENS } from './coins/coin.js';
import type { KeyPlace } from './keys/derived-keys.js';
import type { WalletParts } from './modules.js';
import type { WalletOptions } from './options.js';
import type { Merges } from './payments/merges.js';
import type { OwnTransaction } from './payments/outgoing.js';
import type { PassphraseCaller } from './service.js';

export interface CoverageModules
  extends Pick<WalletParts, 'clock' | 'coins' | 'keys' | 'keystore' | 'labels' | 'meta' | 'random' | 'writes'> {
  readonly merges: Merges;
}

export type CoverageOptions = Pick<WalletOptions, 'networkName' | 'scryptCost'>;

export class Coverage {
  readonly #options: CoverageOptions;
  readonly #modules: CoverageModules;

  constructor(options: CoverageOptions, modules: CoverageModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Counts places as handed out that another copy of this wallet has handed out. */
  async handOut(places: Iterable<KeyPlace>): Promise<void> {
    const { keys, writes } = this.#modules;
    writes.checkRoom();
    const added: string[] = [];
    for (const place of places) added.push(...keys.handOutTo(place));
    writes.onFailure(() => keys.discard(added));
    await writes.flush();
  }

  /** Takes in keys and labels of a backup file; no funds are asked for. Throws `malformed_key_pair`. */
  async adopt({ keys: pairs, labels: list }: WalletBackup): Promise<void> {
    const { keys, labels, writes } = this.#modules;
    writes.checkRoom();
    keys.importPairs(pairs);
    labels.stage(list);
    await writes.flush();
  }

  /** Pays coins at addresses without words to an address that has them. Coins that are locked now stay where they are. */
  async sweep(): Promise<readonly OwnTransaction[]> {
    const { keys, merges, meta, writes } = this.#modules;
    const made = await merges.sweep();
    const { rewardAddress } = meta.current;
    if (rewardAddress !== null && !keys.isCovered(rewardAddress)) {
      meta.update({ rewardAddress: null });
      await writes.flush();
    }
    return made;
  }

  /** Tokens at addresses that the words do not cover, in raw units: available, locked and expected. */
  uncovered(): bigint {
    const { coins, keys } = this.#modules;
    const tokens = coins.unspent().filter(({ address, assetId }) => assetId === TOKENS && !keys.isCovered(address));
    return tokens.reduce((sum, { amount }) => sum + amount, 0n);
  }

  /** The backup file, sealed under the passphrase of the wallet. Throws `wrong_passphrase`; guessing is slowed. */
  async backup(passphrase: string, caller?: PassphraseCaller): Promise<string> {
    const { clock, keys, keystore, labels, random, writes } = this.#modules;
    const { networkName: network = '', scryptCost } = this.#options;
    writes.checkOpen();
    await keystore.verify(passphrase, caller);
    const uncovered = [...keys.addresses.keys()].filter((address) => !keys.isCovered(address));
    const pairs = await keys.exportPairs(uncovered);
    const words = keystore.words();
    const backup = { words, handedOut: keys.lastPlaces(), keys: pairs, labels: labels.all() };
    const sealing = sealBackup(backup, { network, passphrase, scryptCost, now: clock.now() }, random);
    return sealing.finally(() => words.entropy.fill(0));
  }
}
