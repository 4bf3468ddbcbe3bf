/** Examines a node from outside, part by part, each with a share of the time. Changes nothing. */

import type { LoadedConfig } from '../../config/load.js';
import { type Examination, type Finding, reasonOf, warn } from './finding.js';
import { folderExamination, segmentExaminations } from './folder.js';
import { peerExaminations, readinessExamination } from './network.js';
import { configExamination, descriptors, portExamination, versions } from './system.js';

/** The findings that need no configuration. */
export function examineProgram(): readonly Finding[] {
  return [versions(), descriptors()];
}

/** All findings about the configured node, one by one. Ends shortly after `timeoutMs` at the latest. */
export async function* examineNode(loaded: LoadedConfig, timeoutMs: number): AsyncGenerator<Finding> {
  const { config } = loaded;
  const deadline = AbortSignal.timeout(timeoutMs);
  const oneByOne = [
    configExamination(loaded),
    folderExamination(config),
    ...segmentExaminations(config),
    portExamination(config),
    readinessExamination(config),
  ];
  for (const examination of oneByOne) yield* await inTime(examination, deadline);
  const peers = await Promise.all(peerExaminations(config).map((examination) => inTime(examination, deadline)));
  for (const findings of peers) yield* findings;
}

async function inTime({ name, run }: Examination, deadline: AbortSignal): Promise<readonly Finding[]> {
  const late: Finding[] = [warn(name, 'not finished in time', 'try again with a longer --timeout')];
  if (deadline.aborted) return late;
  let stop = (): void => undefined;
  const stopped = new Promise<readonly Finding[]>((resolve) => {
    // A part that the deadline aborts gets a moment to say why.
    stop = () => void setTimeout(resolve, 200, late);
    deadline.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([run(deadline), stopped]);
  } catch (error) {
    return [warn(name, `could not be examined: ${reasonOf(error)}`, 'see the other rows')];
  } finally {
    deadline.removeEventListener('abort', stop);
  }
}
