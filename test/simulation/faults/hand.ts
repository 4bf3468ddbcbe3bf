/** The world's own hand: it does what is done to others. */

import type { Stage } from '../play.js';
import type { Process } from '../world/world.js';

export type Undo = () => void;

export interface Hand {
  readonly stage: Stage;
  readonly process: Process;
  /** An older copy of etcd is kept, once in a story. */
  isEtcdCopied: boolean;
}
