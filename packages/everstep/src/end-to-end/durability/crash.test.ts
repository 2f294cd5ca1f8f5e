/**
 * The guarantee of the server: acknowledged runs end, and each step is recorded once, although its process is killed
 * repeatedly.
 */
import { test } from 'node:test';
import { assertSurvivesKills } from './crash.fixture.js';

test('200 runs finish with each step recorded once although the server is killed 20 times', { timeout: 240_000 }, (t) =>
  assertSurvivesKills(t, { runs: 200, kills: 20 }),
);
