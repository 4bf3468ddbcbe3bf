import { afterEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/lib/logger.js';
import { METRICS } from '../../src/observability/catalogue.js';
import { MetricsRegistry, watchProcess } from '../../src/observability/metrics.js';
import { MetricsServer } from '../../src/observability/metrics-server.js';

const running: MetricsServer[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
});

async function serve(metrics = new MetricsRegistry()) {
  const server = new MetricsServer({ host: '127.0.0.1', port: 0 }, { metrics, logger: silentLogger });
  await server.start();
  running.push(server);
  return server;
}

describe('the catalogue', () => {
  it.each(Object.entries(METRICS))('follows the naming rules of Prometheus: %s', (name, { kind, help }) => {
    expect(name).toMatch(/^tessera_[a-z0-9_]+$/);
    expect(name.endsWith('_total')).toBe(kind === 'counter');
    expect(help).toMatch(/\.$/);
  });

  it('is served in full from the start', async () => {
    const { body } = await new MetricsRegistry().render();
    for (const name of Object.keys(METRICS))
      expect(body).toContain(`# TYPE ${name} ${METRICS[name as keyof typeof METRICS].kind}`);
  });
});

describe('metrics', () => {
  it('counts, sets and observes by label', async () => {
    const metrics = new MetricsRegistry();
    metrics.counter('tessera_mempool_admissions_total', 'admitted').inc(3);
    metrics.gauge('tessera_peers_links', 'miner').set(2);
    metrics.histogram('tessera_http_request_duration_seconds', 'getSupply', '200', 'ok').observe(0.003);
    const { body } = await metrics.render();
    expect(body).toContain('tessera_mempool_admissions_total{verdict="admitted"} 3');
    expect(body).toContain('tessera_peers_links{role="miner"} 2');
    expect(body).toContain(
      'tessera_http_request_duration_seconds_count{operation="getSupply",status="200",result="ok"} 1',
    );
  });

  it('gives the same handle for the same labels', () => {
    const metrics = new MetricsRegistry();
    const handle = () => metrics.counter('tessera_peers_messages_total', 'in', 'block.deliver');
    expect(handle()).toBe(handle());
  });

  it('bounds the number of label values', async () => {
    const metrics = new MetricsRegistry();
    for (let i = 0; i < 1_010; i++) metrics.counter('tessera_mempool_admissions_total', `v${i}`).inc();
    const { body } = await metrics.render();
    expect(body).toContain('tessera_mempool_admissions_total{verdict="other"} 10');
    expect(body).not.toContain('v1005');
  });

  it('keeps the nodes of one process apart', async () => {
    const [a, b] = [new MetricsRegistry(), new MetricsRegistry()];
    a.counter('tessera_miner_hashes_total').inc(5);
    expect((await b.render()).body).toMatch(/^tessera_miner_hashes_total 0$/m);
  });

  it('reads what is read at each scrape, until told to stop', async () => {
    const metrics = new MetricsRegistry();
    let height = 0;
    const remove = metrics.beforeScrape(() => metrics.gauge('tessera_block_height').set(++height));
    await metrics.render();
    remove();
    expect((await metrics.render()).body).toContain('tessera_block_height 1');
  });

  it('knows the memory of the process and the delay of the event loop', async () => {
    const metrics = new MetricsRegistry();
    const stop = watchProcess(metrics);
    // Each scrape decides how often the loop is looked at until the next one.
    await metrics.render();
    const { body } = await metrics.render();
    stop();
    expect(body).toMatch(/tessera_process_memory_bytes\{kind="rss"\} \d{7,}/);
    expect(body).toContain('tessera_event_loop_delay_seconds{quantile="0.99"}');
  });
});

describe('the metrics server', () => {
  it('serves /metrics in the text format', async () => {
    const { url } = await serve();
    const answer = await fetch(`${url}/metrics`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await answer.text()).toContain('# HELP tessera_block_height');
  });

  it('serves nothing else', async () => {
    const { url } = await serve();
    expect((await fetch(url)).status).toBe(404);
    const post = await fetch(`${url}/metrics`, { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('fails with the error of the system when it cannot take its address', async () => {
    const { url } = await serve();
    const port = Number(new URL(url).port);
    const second = new MetricsServer(
      { host: '127.0.0.1', port },
      { metrics: new MetricsRegistry(), logger: silentLogger },
    );
    await expect(second.start()).rejects.toMatchObject({ code: 'EADDRINUSE', port });
  });

  it('answers 500 when a value cannot be collected, and goes on', async () => {
    const metrics = new MetricsRegistry();
    const remove = metrics.beforeScrape(() => Promise.reject(new Error('broken')));
    const { url } = await serve(metrics);
    expect((await fetch(`${url}/metrics`)).status).toBe(500);
    remove();
    expect((await fetch(`${url}/metrics`)).status).toBe(200);
  });
});
