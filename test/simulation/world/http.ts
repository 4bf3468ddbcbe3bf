/**
 * Requests to the API of the nodes of a world, as the program serves it: one app for each role, into which the requests of all nodes are
 * injected. Requests and answers take time, can be lost, and have no answer when the node ends meanwhile.
 */

import type { FastifyInstance } from 'fastify';
import { createApi } from '../../../src/api/app.js';
import { parseExactJson, stringifyExact } from '../../../src/lib/json.js';
import { silentLogger } from '../../../src/lib/logger.js';
import { isOperator, type NodeRole } from '../../../src/lib/roles.js';
import type { RoleServices } from '../../../src/node/roles/role.js';
import { noMetrics } from '../../../src/observability/metrics.js';
import type { Machine } from './node.js';
import type { Wires } from './wires.js';
import type { Process, World } from './world.js';

/** Milliseconds after which a client gives up. */
const PATIENCE_MS = 15_000;

const API_KEY = 'the key of the clients of a world';

export interface Call {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly body?: unknown;
  /** In place of the body, as it is. */
  readonly text?: string;
  /** Under which the request is done once. */
  readonly key?: string;
}

export type HttpAnswer =
  | { readonly kind: 'answer'; readonly status: number; readonly body: unknown }
  /** Nobody has got the request. */
  | { readonly kind: 'not sent' }
  /** Nobody knows. */
  | { readonly kind: 'lost' };

/** The app of each role, of all worlds. */
const apps = new Map<NodeRole, FastifyInstance>();
let entered: Http | undefined;

export class Http {
  readonly #world: World;
  readonly #wires: Wires;
  readonly #machines = new Map<Process, Machine>();
  /** So many of the answers are lost. */
  losing = 0;

  private constructor(world: World, wires: Wires) {
    this.#world = world;
    this.#wires = wires;
  }

  /** Makes the apps of the roles that the machines have, if there are none of an earlier world. */
  static async create(world: World, wires: Wires, machines: readonly Machine[]): Promise<Http> {
    const http = new Http(world, wires);
    entered = http;
    for (const { role, config } of machines) {
      if ((role === 'miner' && !config.wallet.enabled) || apps.has(role)) continue;
      const options = { ...config, roles: [role], api: { ...config.api, keys: [{ name: 'clients', key: API_KEY }] } };
      // While an app is made, and what it does for itself, is in no step.
      const process = (): Process | undefined => (entered === undefined ? undefined : entered.#world.current);
      apps.set(
        role,
        await createApi(options, {
          logger: silentLogger,
          metrics: noMetrics,
          clock: {
            now: () => process()?.clock.now() ?? 0,
            monotonic: () => process()?.clock.monotonic() ?? 0,
            after: (ms, run) => process()?.clock.after(ms, run) ?? { cancel: () => undefined },
          },
          random: { bytes: (length) => process()?.luck.bytes(length) ?? new Uint8Array(length) },
          node: { type: () => (isOperator(role) ? 'Mempool' : 'User'), peers: () => [], routesPow: {} },
          readiness: () => [],
          services: Http.#services(),
        }),
      );
    }
    return http;
  }

  /** Asks a node; called in a step of the client. */
  send(client: Process, machine: Machine, call: Call): Promise<HttpAnswer> {
    const world = this.#world;
    return new Promise((resolve) => {
      let isOver = false;
      const finish = (answer: HttpAnswer): void => {
        if (isOver) return;
        isOver = true;
        limit.cancel();
        resolve(answer);
      };
      const limit = world.later(client, PATIENCE_MS, () => finish({ kind: 'lost' }));
      const { process } = machine;
      const app = machine.config.wallet.enabled || machine.role !== 'miner' ? apps.get(machine.role) : undefined;
      if (process === undefined || app === undefined) {
        world.later(client, 1, () => finish({ kind: 'not sent' }));
        return;
      }
      if (this.#wires.isCut(client.host, machine.host) || this.#wires.isCut(machine.host, client.host)) {
        return;
      }
      process.onDeath(() => world.later(client, this.#delay(machine, client), () => finish({ kind: 'lost' })));
      world.later(process, this.#wires.delay(client.host, machine.host), () => {
        this.#machines.set(process, machine);
        const isLost = this.#wires.luck.chance(this.losing);
        this.#inject(app, call).then(
          (answer) => {
            if (!process.isAlive) return;
            if (this.#wires.isCut(machine.host, client.host)) return;
            const shown: HttpAnswer = isLost ? { kind: 'lost' } : answer;
            world.later(client, this.#delay(machine, client), () => finish(shown));
          },
          (error: unknown) => world.onUncaught(process, error),
        );
      });
    });
  }

  #delay({ host }: Machine, client: Process): number {
    return this.#wires.delay(host, client.host);
  }

  async #inject(app: FastifyInstance, { method, url, body, text, key }: Call): Promise<HttpAnswer> {
    const payload = text ?? (body === undefined ? undefined : stringifyExact(body));
    const headers: Record<string, string> = { 'x-api-key': API_KEY };
    if (key !== undefined) headers['idempotency-key'] = key;
    if (payload !== undefined) headers['content-type'] = 'application/json';
    const answer = await app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
    const isJson = String(answer.headers['content-type'] ?? '').includes('json');
    return {
      kind: 'answer',
      status: answer.statusCode,
      body: isJson && answer.body !== '' ? parseExactJson(answer.body) : undefined,
    };
  }

  /** Services of the node whose step it is. */
  static #services(): RoleServices {
    const of = (): RoleServices => {
      if (entered === undefined) return {};
      const { current } = entered.#world;
      return (current && entered.#machines.get(current)?.anyServices) ?? {};
    };
    return {
      get mempool() {
        return of().mempool;
      },
      get storage() {
        return of().storage;
      },
      get wallet() {
        return of().wallet;
      },
      get user() {
        return of().user;
      },
    } as RoleServices;
  }
}
