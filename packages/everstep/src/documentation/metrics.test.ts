/** docs/operations/metrics.md lists every metric of the server, with its type, labels and help. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { METRICS, type MetricDefinition } from '../metrics/definitions.js';
import { read } from './pages.fixture.js';

test('the page lists every metric as it is defined', () => {
  const page = read('docs/operations/metrics.md');
  const rows = page.split('\n').filter((line) => line.startsWith('| `everstep_'));
  const defined = Object.entries<MetricDefinition>(METRICS).map(
    ([name, { type, help, labels = [] }]) =>
      `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ') || 'none'} | ${help} |`,
  );
  assert.deepEqual(rows, defined);
});
