/** Two PostgreSQL servers managed by Patroni: what a cluster without a third server can do, with strict replication and without. */
import { after, before, suite, test } from 'node:test';
import { FailoverTrial } from './failover-trial.fixture.js';
import { cannotCutNetworks, findPrograms } from './programs.fixture.js';

const programs = findPrograms();
const options = {
  skip: typeof programs === 'string' && programs,
  timeout: Number(process.env.FAILOVER_TIMEOUT_MS ?? 900_000),
};
const network = { skip: cannotCutNetworks() ?? false };

suite('nodes and two servers of Patroni with strict synchronous replication', options, () => {
  let trial: FailoverTrial;

  before(async () => {
    if (typeof programs !== 'string') trial = await FailoverTrial.start({ programs, servers: 2, isStrict: true });
  });
  after(() => trial?.dispose());

  test('writes continue after the primary and its Patroni are killed and Patroni is restarted', (t) =>
    trial.run(t, 'killed', 'at once'));

  test('writes wait until a primary that was paused for 30 seconds follows the new one', (t) =>
    trial.run(t, 'paused', 'before writes'));

  test('writes wait until a primary that was cut off from the network follows the new one', network, (t) =>
    trial.run(t, 'cut off', 'before writes'),
  );

  test('writes continue after a switchover by command', (t) => trial.run(t, 'switched over'));
});

suite('nodes and two servers of Patroni whose primary continues without a standby', options, () => {
  let trial: FailoverTrial;

  before(async () => {
    if (typeof programs !== 'string') trial = await FailoverTrial.start({ programs, servers: 2, isStrict: false });
  });
  after(() => trial?.dispose());

  test('writes continue on the other server after the primary and its Patroni are killed', (t) => trial.run(t, 'killed'));

  test('writes continue while the primary and its Patroni are paused for 30 seconds', (t) => trial.run(t, 'paused'));

  test('writes continue while the primary is cut off from the network', network, (t) => trial.run(t, 'cut off'));

  test('writes continue after a switchover by command', (t) => trial.run(t, 'switched over'));
});
