/** Every attack, in the order in which they run. A new one is a file here and a line in this list. */

import type { Attack } from '../attack.js';
import { badSignatures, guessedKeys, largeBodies } from './api-clients.js';
import { chainedPayments } from './chains.js';
import { fewDescriptors } from './few-descriptors.js';
import {
  answersNobodyReads,
  expensiveQuestions,
  framesWithoutEnd,
  nonsenseFirst,
  replayedHandshakes,
} from './floods.js';
import { forgedBlocks } from './forged-blocks.js';
import { badHandshakes, rightBehind } from './handshakes.js';
import { idleConnections, silentStreams, slowBodies, slowHeaders } from './http.js';
import { falseMempools, fullPool, silentMiners, tipLiars } from './liars.js';
import { repeatedProofs } from './miners.js';
import { outOfTurn } from './out-of-turn.js';
import { halfOpenHandshakes, idleLinks, idleSockets } from './places.js';
import { spoiledTrades } from './trades.js';
import {
  conflictingSpends,
  copiedItems,
  dearBodies,
  dearKeys,
  dearScripts,
  malleatedTransactions,
  overBudget,
} from './transactions.js';
import { dust, lyingMempool } from './wallets.js';

export const ATTACKS: readonly Attack[] = [
  forgedBlocks,
  outOfTurn,
  replayedHandshakes,
  nonsenseFirst,
  badHandshakes,
  rightBehind,
  halfOpenHandshakes,
  idleLinks,
  idleSockets,
  fewDescriptors,
  expensiveQuestions,
  answersNobodyReads,
  framesWithoutEnd,
  malleatedTransactions,
  copiedItems,
  conflictingSpends,
  spoiledTrades,
  overBudget,
  dearScripts,
  dearKeys,
  dearBodies,
  badSignatures,
  largeBodies,
  guessedKeys,
  tipLiars,
  falseMempools,
  lyingMempool,
  dust,
  repeatedProofs,
  silentMiners,
  fullPool,
  chainedPayments,
  slowHeaders,
  slowBodies,
  silentStreams,
  idleConnections,
];
