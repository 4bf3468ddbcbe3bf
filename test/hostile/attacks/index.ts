/** Every attack, in the order in which they run. A new one is a file here and a line in this list. */

import type { Attack } from '../attack.js';
import { fewDescriptors } from './few-descriptors.js';
import {
  answersNobodyReads,
  expensiveQuestions,
  framesWithoutEnd,
  nonsenseFirst,
  replayedHandshakes,
} from './floods.js';
import { forgedBlocks } from './forged-blocks.js';
import { idleConnections, silentStreams, slowBodies, slowHeaders } from './http.js';
import { falseMempools, fullPool, silentMiners, tipLiars } from './liars.js';
import { halfOpenHandshakes, idleLinks, idleSockets } from './places.js';
import { conflictingSpends, dearBodies, dearKeys, dearScripts, malleatedTransactions } from './transactions.js';

export const ATTACKS: readonly Attack[] = [
  forgedBlocks,
  replayedHandshakes,
  nonsenseFirst,
  halfOpenHandshakes,
  idleLinks,
  idleSockets,
  fewDescriptors,
  expensiveQuestions,
  answersNobodyReads,
  framesWithoutEnd,
  malleatedTransactions,
  conflictingSpends,
  dearScripts,
  dearKeys,
  dearBodies,
  tipLiars,
  falseMempools,
  silentMiners,
  fullPool,
  slowHeaders,
  slowBodies,
  silentStreams,
  idleConnections,
];
