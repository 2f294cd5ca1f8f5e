import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CommandSources, commandsFor } from './commands.js';

const SOURCES: CommandSources = {
  base: '/q/q_1',
  pages: [
    { text: 'Runs', page: 'runs' },
    { text: 'Dead letters', page: 'dead-letters' },
  ],
  instances: [{ id: 'q_2', name: 'Orders EU' }],
  views: [{ page: 'runs', name: 'Failed in the EU', search: '?label=eu&state=RUN_FAILED' }],
};
const hrefs = (query: string) => commandsFor(query, SOURCES).map(({ href }) => href);

test('every word of the query must occur in a command', () => {
  assert.deepEqual(hrefs('dead let'), ['/q/q_1/dead-letters', '/q/q_1/runs?q=dead%20let']);
  assert.deepEqual(hrefs('eu'), ['/q/q_1/runs?label=eu&state=RUN_FAILED', '/q/q_2/overview', '/q/q_1/runs?q=eu']);
});

test('an id leads to its run or dead letter first', () => {
  assert.equal(hrefs('wfr_1')[0], '/q/q_1/runs/wfr_1');
  assert.equal(hrefs('dlq_1')[0], '/q/q_1/dead-letters/dlq_1');
});

test('without a query, pages come first', () => {
  assert.deepEqual(hrefs('').slice(0, 3), ['/q/q_1/runs', '/q/q_1/dead-letters', '/q/q_1/runs?action=trigger']);
});
