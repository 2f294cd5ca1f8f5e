/** A PgBouncer in session mode in front of each server that Patroni manages. The URL names the PgBouncers. */
import { after, before, suite, test } from 'node:test';
import { FailoverTrial } from './failover-trial.fixture.js';
import { cannotCutNetworks, findPrograms } from './programs.fixture.js';

const programs = findPrograms();

suite('nodes and three servers of Patroni behind PgBouncer', {
  skip: typeof programs === 'string' && programs,
  timeout: Number(process.env.FAILOVER_TIMEOUT_MS ?? 900_000),
}, () => {
  let trial: FailoverTrial;

  before(async () => {
    if (typeof programs !== 'string')
      trial = await FailoverTrial.start({ programs, servers: 3, isStrict: true, hasPoolers: true });
  });
  after(() => trial?.dispose());

  test('writes continue on another server after the primary and its Patroni are killed', (t) => trial.run(t, 'killed'));

  test('writes continue while the primary and its Patroni are paused for 30 seconds', (t) => trial.run(t, 'paused'));

  test('writes continue while the primary is cut off from the network', { skip: cannotCutNetworks() ?? false }, (t) =>
    trial.run(t, 'cut off'),
  );

  test('writes continue after a switchover by command', (t) => trial.run(t, 'switched over'));
});
