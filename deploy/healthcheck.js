/**
 * The health check of the container, in place of curl: asks the node that this container's environment configures for
 * /readyz (or the path given) and ends with 0 when it answers 200. What it answers is printed, for `docker inspect`.
 *
 *   node deploy/healthcheck.js [PATH] [PORT]      PORT: that of `dev`, which runs where the environment gives no role
 */

import { get } from 'node:http';
import { get as getTls } from 'node:https';
import { loadProcess } from '../dist/program/configuration.js';

/** Milliseconds; below the timeout of HEALTHCHECK, so that the reason is seen. */
const TIMEOUT_MS = 4_000;
/** Where a node that listens everywhere is reached from inside. */
const EVERYWHERE = { '0.0.0.0': '127.0.0.1', '::': '::1' };

function end(status, text) {
  process.stdout.write(`${text}\n`);
  process.exitCode = status;
}

/** Where the network of `dev` listens, unless it was told otherwise. */
const DEV = { host: '127.0.0.1', port: 8080, tls: {} };

/** The address of the node, or the one that several nodes of this container have in common. */
function configured() {
  const { nodes, joint } = loadProcess({ env: process.env });
  return (joint ?? nodes[0]).config.api;
}

function check(path, port = DEV.port) {
  const isNode = process.env.TESSERA_NODE__ROLE !== undefined;
  const api = isNode ? configured() : { ...DEV, port };
  const tls = api.tls.certFile !== undefined;
  // The certificate is for the name that clients use, not for the loopback of this container.
  const options = { host: EVERYWHERE[api.host] ?? api.host, port: api.port, path, rejectUnauthorized: false };
  const request = (tls ? getTls : get)({ ...options, timeout: TIMEOUT_MS }, (response) => {
    let body = '';
    response.setEncoding('utf8');
    response.on('data', (text) => {
      body += text;
    });
    response.on('end', () => end(response.statusCode === 200 ? 0 : 1, `${response.statusCode} ${body.trim()}`));
  });
  request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
  request.on('error', (error) => end(1, error.message));
}

try {
  check(process.argv[2] ?? '/readyz', process.argv[3]);
} catch (error) {
  end(1, error instanceof Error ? error.message : String(error));
}
