import { describe, expect, it } from 'vitest';
import { changesText, EffectiveOptions } from '../../src/config/describe.js';
import { loadConfig } from '../../src/config/load.js';

const load = (options: Readonly<Record<string, unknown>>) =>
  loadConfig({
    role: 'user',
    file: null,
    flags: Object.entries(options).map(([option, value]) => ({ option, value, flag: 'code' })),
  });

describe('a configuration that is read again', () => {
  it('names what takes effect and what needs a restart', () => {
    const options = new EffectiveOptions(load({ 'log.level': 'info' }));
    const changes = options.takeOver(
      load({ 'log.level': 'debug', 'api.keys': [{ name: 'a', key: 'a-key-of-16-chars' }], 'api.port': 4000 }),
    );
    expect(changes).toEqual({ applied: ['api.keys', 'log.level'], needRestart: ['api.port'] });
    expect(changesText(changes)).toBe(
      'configuration read again: now in effect: api.keys, log.level; changed, but needs a restart: api.port',
    );
  });

  it('names what needs a restart again and again, and what is in effect once', () => {
    const options = new EffectiveOptions(load({}));
    const next = load({ 'log.level': 'debug', 'api.port': 4000 });
    options.takeOver(next);
    expect(options.takeOver(next)).toEqual({ applied: [], needRestart: ['api.port'] });
    expect(options.takeOver(load({ 'log.level': 'debug' }))).toEqual({ applied: [], needRestart: [] });
  });

  it('says when nothing has changed', () => {
    expect(changesText({ applied: [], needRestart: [] })).toBe('configuration read again: no change takes effect now');
  });
});
