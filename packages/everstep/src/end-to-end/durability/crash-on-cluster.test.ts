/** Kills the server repeatedly while it stores runs on a Citus cluster: no step may be recorded twice. */
import { test } from 'node:test';
import { NO_CLUSTER } from '../../stores/postgres/testing/citus.js';
import { openTestSchemas } from '../../stores/postgres/testing/schemas.js';
import { assertSurvivesKills } from './crash.fixture.js';

const schemas = NO_CLUSTER || (await openTestSchemas());
const skip = typeof schemas === 'string' && schemas;

test('60 runs on a Citus cluster finish with each step recorded once although the server is killed 6 times', {
  skip,
  timeout: 300_000,
}, async (t) => {
  if (typeof schemas === 'string') return;
  const { url } = await schemas.make();
  // A node that was killed keeps its claims until its lease ends.
  await assertSurvivesKills(t, { runs: 60, kills: 6, settings: { EVERSTEP_STORE: url, EVERSTEP_NODE_LEASE: '1' } });
});
