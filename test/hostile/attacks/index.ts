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
import { halfOpenHandshakes, idleLinks, idleSockets } from './places.js';

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
];
