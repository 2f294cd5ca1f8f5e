/** docs/operations/logs.md lists every event of the log, with its level and fields. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LogEvent, logEventsIn } from './log-events.fixture.js';
import { read, SOURCES } from './pages.fixture.js';

const PAGE = 'docs/operations/logs.md';
const LEVEL_OF_HEADING: Readonly<Record<string, string>> = {
  Errors: 'error',
  Warnings: 'warn',
  Information: 'info',
  Debugging: 'debug',
};

const keyOf = ({ level, event }: Pick<LogEvent, 'level' | 'event'>): string => `${level}: ${event}`;

/** Returns the fields of each event in the tables of the page. */
function documentedEvents(): ReadonlyMap<string, readonly string[]> {
  const documented = new Map<string, readonly string[]>();
  let level = '';
  for (const line of read(PAGE).split('\n')) {
    level = LEVEL_OF_HEADING[/^## (.*)$/.exec(line)?.[1] ?? ''] ?? level;
    const [, event, fields = ''] = /^\| `([^`]*)` \|([^|]*)\|/.exec(line) ?? [];
    if (event !== undefined) documented.set(keyOf({ level, event }), fields.match(/\w+/g) ?? []);
  }
  return documented;
}

const documented = documentedEvents();
const logged = SOURCES.filter((path) => path.startsWith('packages/everstep/src/')).flatMap((path) => logEventsIn(read(path)));

test('the page lists exactly the events of the log', () => {
  assert.ok(logged.length > 80, `${logged.length} events`);
  assert.deepEqual([...documented.keys()].sort(), [...new Set(logged.map(keyOf))].sort());
});

test('the page lists every field of each event', () => {
  const missing = logged.flatMap((event) =>
    event.fields.filter((name) => !documented.get(keyOf(event))?.includes(name)).map((name) => `${keyOf(event)}: ${name}`),
  );
  assert.deepEqual(missing, []);
});

test('a log line whose text is not a constant is found', () => {
  assert.throws(() => logEventsIn('log.warn({ error }, failureOf(name))'), /must be a constant/);
  assert.deepEqual(logEventsIn("this.options.log.warn({ ...about, error: String(e), node }, 'lease, expired');"), [
    { level: 'warn', event: 'lease, expired', fields: ['error', 'node'] },
  ]);
});
