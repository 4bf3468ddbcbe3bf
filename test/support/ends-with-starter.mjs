/**
 * For `--import` of Node.js: ends the process, as kill -9 does, when the other end of its descriptor 3 is closed. Whoever
 * started it holds that end; when it is gone, however it went, nobody would stop this process any more.
 */

import { Socket } from 'node:net';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const starter = new Socket({ fd: 3 }).unref();
  starter.once('close', () => process.kill(process.pid, 'SIGKILL')).on('error', () => undefined);
  starter.resume();
}
