import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogLevelSwitch } from './log-level-switch.js';
import { createServerLog } from './server-log.js';

function opened(level: 'debug' | 'warn' | 'silent') {
  const events: string[] = [];
  const write = (line: string) => events.push(JSON.parse(line).msg);
  const log = createServerLog({ level, format: 'json', write });
  return { events, log, level: new LogLevelSwitch(log, level) };
}

test('a change takes effect immediately, and is logged before the log becomes quieter', () => {
  const { events, log, level } = opened('warn');
  log.debug({}, 'hidden');
  level.set('debug', 'ann@w.test');
  log.debug({}, 'shown');
  level.set('silent', 'ann@w.test');
  log.error({}, 'hidden too');
  assert.deepEqual(events, ['log level changed', 'shown', 'log level changed']);
  assert.deepEqual([level.level, level.configured], ['silent', 'warn']);
});

test('the same level again changes nothing', () => {
  const { events, level } = opened('debug');
  level.set('debug', 'ann@w.test');
  assert.deepEqual(events, []);
});

test('the signal switches between debug and the level of the settings', () => {
  const quiet = opened('silent');
  assert.deepEqual([quiet.level.toggleDebug('signal'), quiet.level.toggleDebug('signal')], ['debug', 'silent']);
  const detailed = opened('debug');
  assert.deepEqual([detailed.level.toggleDebug('signal'), detailed.level.toggleDebug('signal')], ['info', 'debug']);
});
