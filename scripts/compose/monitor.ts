/** Prometheus of a network of docker-compose.yml: it reaches every target, and takes the alert rules. */

import type { Session } from './session.js';

const PROMETHEUS_IMAGE = process.env.PROMETHEUS_IMAGE ?? 'prom/prometheus:v2.53.4';

export interface Monitoring {
  readonly profile: string;
  readonly service: string;
  readonly port: number;
  /** How many there are. */
  readonly targets: number;
}

export async function monitor(session: Session, { profile, service, port, targets }: Monitoring): Promise<void> {
  session.section('Monitoring');
  if (!(await session.hasImage(PROMETHEUS_IMAGE))) {
    session.say(`  left out: the image ${PROMETHEUS_IMAGE} is not here and no registry answers`);
    session.write('Left out: no image of Prometheus, and no registry that answers.', '');
    return;
  }
  await session.compose('--profile', profile, 'up', '--detach', '--no-build', service);
  const url = `http://127.0.0.1:${port}/api/v1`;
  const up = await session.until(`${targets} targets that are up`, async () => {
    const answer = await session.run('curl', ['-s', `${url}/query?query=up`], { mayFail: true });
    if (!answer.startsWith('{')) return undefined;
    const found: { metric: { job: string }; value: [number, string] }[] = JSON.parse(answer).data.result;
    return found.filter(({ value }) => value[1] === '1').length === targets ? found : undefined;
  });
  const jobs = up.map(({ metric }) => metric.job);
  const counts = [...new Set(jobs)].map((job) => `${job} ${jobs.filter((one) => one === job).length}`);
  session.check('Prometheus scrapes all targets', true, counts.join(', '));
  const { data } = await session.ask<{ data: { groups: { rules: { health: string }[] }[] } }>(`${url}/rules`);
  const alerts = data.groups.flatMap((group) => group.rules);
  const areLoaded = alerts.length > 0 && alerts.every(({ health }) => health !== 'err');
  session.check('the alert rules are loaded', areLoaded, String(alerts.length));
  const query = profile === 'ha' ? 'tessera_mempool_leads' : 'tessera_block_height';
  session.note(
    `curl -s '${url}/query?query=${query}'`,
    await session.run('curl', ['-s', `${url}/query?query=${query}`]),
  );
}
