/** The network of profile `small`: four roles in one container. */

import { readmeLines, runReadme } from './readme.js';
import type { Session } from './session.js';

const URL_OF_ALL = 'http://127.0.0.1:8080';

export async function runSmall(session: Session): Promise<void> {
  try {
    session.section('The network');
    const started = Date.now();
    await session.up('small', 'small');
    await session.healthy('small');
    session.check(
      'four roles in one container are healthy',
      true,
      `${((Date.now() - started) / 1_000).toFixed(0)} s after up`,
    );
    await session.listContainers();
    await session.checkHardening('small');
    await runReadme(session, linesOfOne(), URL_OF_ALL);
    const page = await session.run('curl', ['-s', URL_OF_ALL]);
    session.check('the explorer is at its address', page.includes('<title>Tessera explorer</title>'));
    const container = await session.containerOf('small');
    await session.run('docker', ['stop', container]);
    session.check('SIGTERM ends it with status 0', (await session.inspect(container, '{{.State.ExitCode}}')) === '0');
  } finally {
    await session.down('small');
  }
}

/** The lines of the README that ask the address of all. */
function linesOfOne(): string[] {
  return readmeLines().filter((line) => line.includes('127.0.0.1:8080'));
}
