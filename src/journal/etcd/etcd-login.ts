/**
 * The user of etcd that a node is, with the one token that all its connections share: etcd hashes the password anew for each token that it
 * gives, which takes a busy member a second.
 */

export class EtcdLogin {
  readonly name: string;
  readonly password: string;
  #token: string | undefined;
  #asking: Promise<string> | undefined;

  constructor(name: string, password: string) {
    this.name = name;
    this.password = password;
  }

  /** The token; `ask` gets one where there is none, once for all that want it meanwhile. */
  async token(ask: () => Promise<string>): Promise<string> {
    if (this.#token !== undefined) return this.#token;
    this.#asking ??= ask().finally(() => {
      this.#asking = undefined;
    });
    this.#token = await this.#asking;
    return this.#token;
  }

  /** Forgets the token, unless there is a newer one: tokens end, and are of users and roles as they were. */
  forget(token: string): void {
    if (this.#token === token) this.#token = undefined;
  }
}
