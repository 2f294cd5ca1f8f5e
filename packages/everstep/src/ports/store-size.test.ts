/** The size of the store interfaces. A store must implement all of them, and each consumer reads the ones that it uses. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const SOURCES = fileURLToPath(new URL('../../src/ports/stores/', import.meta.url));
const MAX_METHODS = 14;
const MAX_CORE_METHODS = 60;
/** The interfaces that drive runs. The history interfaces serve the logs; upkeep works in the background. */
const CORE = [
  'RunStore',
  'TaskStore',
  'DeadLetterStore',
  'DeadLetterGroupStore',
  'EventStore',
  'ControlStore',
  'ScheduleStore',
  'RepairStore',
  'RepairItemStore',
];

/** Returns the number of methods of each interface whose name ends with "Store" or "Documents". */
function methodCounts(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const file of readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })) {
    if (!/(?<!\.test)\.ts$/.test(file)) continue;
    const text = readFileSync(`${SOURCES}/${file}`, 'utf8');
    for (const [, name = '', body = ''] of text.matchAll(/^export interface (\w+(?:Store|Documents))\b[^{]*\{\n(.*?)^\}/gms))
      counts.set(name, [...body.matchAll(/^ {2}(?:readonly )?\w+\??(?:\(|: <)/gm)].length);
  }
  return counts;
}

test('each store interface has fewer than 15 methods, and the core interfaces have at most 60 together', () => {
  const counts = methodCounts();
  assert.deepEqual(
    [...counts].filter(([, count]) => count > MAX_METHODS),
    [],
  );
  const core = CORE.map((name) => counts.get(name));
  assert.ok(!core.includes(undefined), `an interface of the core was not found: ${[...counts.keys()].join(', ')}`);
  const total = core.reduce<number>((sum, count = 0) => sum + count, 0);
  assert.ok(total <= MAX_CORE_METHODS, `the core has ${total} methods`);
});
