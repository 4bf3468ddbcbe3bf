/** Everything that can be fuzzed, beside the HTTP API. */

import type { FuzzTarget } from '../target.js';
import { bincode } from './bincode.js';
import { peers } from './peers.js';
import { scripts } from './scripts.js';

export const TARGETS: readonly FuzzTarget[] = [bincode, scripts, peers];
