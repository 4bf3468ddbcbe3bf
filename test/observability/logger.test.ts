import { describe, expect, it } from 'vitest';
import { TesseraError } from '../../src/lib/errors.js';
import { type LoggerOptions, NodeLogger } from '../../src/observability/logger.js';

function collect(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const out = { write: (line: string) => lines.push(line) };
  const logger = NodeLogger.create({ level: 'info', format: 'json', node: 'storage', ...options }, { out });
  return { logger, lines, entries: () => lines.map((line) => JSON.parse(line)) };
}

describe('the logger', () => {
  it('writes one JSON object a line, with node and component', () => {
    const { logger, entries } = collect();
    logger.child('peers').info({ link: 7 }, 'link open');
    expect(entries()).toEqual([
      { level: 30, time: expect.any(Number), node: 'storage', component: 'peers', link: 7, msg: 'link open' },
    ]);
  });

  it('names the child of a child by both', () => {
    const { logger, lines } = collect();
    logger.child('mempool').child('peers').info({}, 'x');
    expect(lines[0]?.match(/"component":"[^"]*"/g)).toEqual(['"component":"mempool/peers"']);
  });

  it('writes nothing below its level, and follows a change of level in every child', () => {
    const { logger, entries } = collect({ level: 'warn' });
    const child = logger.child('api');
    child.info({}, 'unseen');
    logger.setLevel('debug');
    child.debug({}, 'seen');
    expect(entries().map((entry) => entry.msg)).toEqual(['seen']);
  });

  it('keeps secrets out by name and by type (rule P8)', () => {
    const { logger, lines } = collect();
    logger.info(
      {
        body: { passphrase: 'hunter2', old_passphrase: 'hunter2', nested: { secretKey: 'hunter2' } },
        headers: { 'x-api-key': 'hunter2', authorization: 'hunter2' },
        keys: [{ seed: 'hunter2' }, new Uint8Array([0x68, 0x75])],
        map: new Map([['mnemonic', 'hunter2']]),
      },
      'request',
    );
    expect(lines[0]).not.toContain('hunter2');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      body: { passphrase: '<redacted>', nested: { secretKey: '<redacted>' } },
      keys: [{ seed: '<redacted>' }, '<2 bytes>'],
    });
  });

  it('writes errors with code, details and cause, and amounts as exact digits', () => {
    const { logger, lines } = collect();
    const error = new TesseraError('data_corrupt', 'bad record', { cause: new Error('disk'), details: { block: 7 } });
    logger.error({ error, amount: 360_360_000_000_000_001n }, 'stopping');
    expect(lines[0]).toContain('"amount":360360000000000001');
    expect(JSON.parse(lines[0] ?? '').error).toMatchObject({
      code: 'data_corrupt',
      message: 'bad record',
      details: { block: 7 },
      cause: { message: 'disk' },
    });
  });

  it('survives fields that contain themselves', () => {
    const { logger, entries } = collect();
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    logger.info({ loop }, 'round');
    expect(entries()).toHaveLength(1);
  });

  it('is readable in the pretty format', () => {
    const { logger, lines } = collect({ format: 'pretty' });
    logger.child('api').warn({ url: 'http://127.0.0.1:3001', reason: 'two words' }, 'slow answer');
    expect(lines[0]).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} WARN {2}storage\/api slow answer url=http:\/\/127\.0\.0\.1:3001 reason="two words"\n$/,
    );
  });
});

describe('the counts of lines', () => {
  it('are those of a logger and of all that is made of it, by level', () => {
    const { logger } = collect();
    const child = logger.child('api');
    logger.warn({}, 'x');
    child.info({}, 'x');
    child.debug({}, 'unseen');
    child.child('deep').error({}, 'x');
    expect(logger.lines).toEqual({ debug: 0, info: 1, warn: 1, error: 1 });
    expect(child.lines).toEqual({ debug: 0, info: 1, warn: 0, error: 1 });
  });
});

describe('lines that others put together', () => {
  it('have the members of all lines, are counted, and follow the level', () => {
    const { logger, entries } = collect();
    const { infoLines, lines } = logger.child('api');
    infoLines?.write(`{"level":30,${infoLines.members}"msg":"a"}\n`, 1);
    expect(entries()).toEqual([{ level: 30, node: 'storage', component: 'api', msg: 'a' }]);
    expect(lines.info).toBe(1);
    expect(infoLines?.enabled).toBe(true);
    logger.setLevel('warn');
    expect(infoLines?.enabled).toBe(false);
  });

  it('are not taken where lines are made readable', () => {
    expect(collect({ format: 'pretty' }).logger.infoLines).toBeUndefined();
  });
});
