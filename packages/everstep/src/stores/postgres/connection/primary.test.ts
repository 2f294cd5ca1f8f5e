import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fakeProbe } from '../testing/fake-probe.js';
import { locationOfUrl } from './errors.js';
import { Primary, primaryUrl, serverUrls } from './primary.js';
import type { ServerProbe, ServerState } from './server-probe.js';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const URL_OF_TWO = 'postgres://u:p@one:1,two:2/db?sslmode=verify-full&target_session_attrs=read-write';
const [ONE, TWO] = ['postgres://u:p@one:1/db?sslmode=verify-full', 'postgres://u:p@two:2/db?sslmode=verify-full'];

/** Two servers, by their URLs. A server without a state does not respond. */
class Servers {
  readonly state: Record<string, ServerState | Promise<ServerState>>;
  /** Whether the server acknowledges a commit. */
  readonly commits: Record<string, Promise<boolean>> = {};
  readonly asked: string[] = [];
  readonly askedForCommit: string[] = [];

  constructor(state: Record<string, ServerState | Promise<ServerState>>) {
    this.state = state;
  }

  readonly probe = (url: string): ServerProbe => {
    const probe = fakeProbe(
      () => this.state[url] ?? 'unknown',
      async () => this.commits[url] ?? false,
    );
    return {
      get isConnected() {
        return probe.isConnected;
      },
      state: () => {
        this.asked.push(url);
        return probe.state();
      },
      tryCommit: () => {
        this.askedForCommit.push(url);
        return probe.tryCommit();
      },
      close: () => {},
    };
  };
}
const primaryOf = ({ probe }: Servers, confirmWithinMs = 3_600_000) =>
  new Primary({ url: URL_OF_TWO, log, probe, probeIntervalMs: 3_600_000, confirmWithinMs });

describe('the servers that a URL names', () => {
  test('each get a URL with everything else unchanged, without the parameter that selects one', () => {
    assert.deepEqual(serverUrls(URL_OF_TWO), [ONE, TWO]);
    assert.deepEqual(serverUrls('postgresql://u:a%2Cb@[::1]:5432,h/db'), [
      'postgresql://u:a%2Cb@[::1]:5432/db',
      'postgresql://u:a%2Cb@h/db',
    ]);
    assert.deepEqual(serverUrls('postgres://a,b/db?target_session_attrs=any'), ['postgres://a/db', 'postgres://b/db']);
  });

  test('are one server if the URL names one, which is used unchanged', () => {
    const url = 'postgres://u:p,q@host/db?target_session_attrs=any';
    assert.deepEqual(serverUrls(url), [url]);
  });

  test('are shown without user and password', () => {
    assert.equal(locationOfUrl(URL_OF_TWO), 'postgres://one:1,two:2/db');
    assert.equal(locationOfUrl('postgres://u:p@h/db?password=secret'), 'postgres://h/db');
    assert.equal(locationOfUrl('not a URL'), 'the given database URL');
  });
});

describe('the primary', () => {
  test('is not looked for if there is one server', async () => {
    const servers = new Servers({});
    const primary = new Primary({ url: ONE, log, probe: servers.probe });
    await primary.ready();
    await primary.find();
    assert.deepEqual([primary.url, primary.isKnown, servers.asked], [ONE, true, []]);
  });

  test('is the one that accepts writes', async () => {
    const servers = new Servers({ [ONE]: 'standby', [TWO]: 3 });
    const primary = primaryOf(servers);
    assert.equal(primary.isKnown, false);
    await primary.ready();
    assert.deepEqual([primary.url, primary.isKnown], [TWO, true]);
    primary.close();
    assert.equal(await primaryUrl(URL_OF_TWO, servers.probe), TWO);
  });

  test('is unknown while none accepts writes, and is found when one does', async () => {
    const servers = new Servers({});
    const primary = primaryOf(servers);
    await primary.ready();
    assert.equal(primary.isKnown, false);
    servers.state[TWO] = 1;
    await primary.ready();
    assert.deepEqual([primary.url, primary.isKnown], [TWO, true]);
    primary.close();
  });

  test('is the promoted server while its former primary still accepts writes, and listeners are notified', async () => {
    const servers = new Servers({ [ONE]: 1, [TWO]: 'standby' });
    const primary = primaryOf(servers);
    const moves: string[] = [];
    primary.onChange(() => moves.push(primary.url));
    await primary.ready();
    assert.deepEqual([primary.url, moves], [ONE, []]);
    servers.state[TWO] = 2;
    await primary.find();
    assert.deepEqual([primary.url, moves], [TWO, [TWO]]);
    primary.close();
  });

  test('is the promoted server as soon as it responds, however long another one takes', async () => {
    const servers = new Servers({ [ONE]: 1, [TWO]: 'standby' });
    const primary = primaryOf(servers);
    const moved = new Promise<void>((resolve) => primary.onChange(resolve));
    await primary.ready();
    servers.state[ONE] = new Promise(() => {});
    servers.state[TWO] = 2;
    void primary.find();
    await moved;
    assert.equal(primary.url, TWO);
    primary.close();
  });

  test('is never an older server, even if no other one responds, and stays the same while none responds', async () => {
    const servers = new Servers({ [ONE]: 1, [TWO]: 2 });
    const primary = primaryOf(servers);
    await primary.ready();
    servers.state[TWO] = 'unknown';
    await primary.find();
    assert.equal(primary.url, TWO);
    // The first server now follows the other one, which was promoted in turn.
    servers.state[ONE] = 3;
    await primary.find();
    assert.equal(primary.url, ONE);
    primary.close();
  });

  test('is looked for only once at a time, however many callers there are', async () => {
    const servers = new Servers({ [ONE]: 1 });
    const primary = primaryOf(servers);
    await Promise.all([primary.find(), primary.find(), primary.find()]);
    assert.deepEqual(servers.asked, [ONE, TWO]);
    primary.close();
    await primary.find();
    assert.equal(servers.asked.length, 2);
  });
});

describe('the confirmation of the primary', () => {
  async function started(state: Record<string, ServerState>, confirmWithinMs?: number) {
    const servers = new Servers({ [ONE]: 1, [TWO]: 'standby' });
    const primary = primaryOf(servers, confirmWithinMs);
    await primary.ready();
    Object.assign(servers.state, state);
    servers.asked.length = 0;
    return { servers, primary };
  }

  test('needs no commit while every server responds, even if one of them was replaced', async () => {
    for (const other of ['standby', 0] as const) {
      const { servers, primary } = await started({ [TWO]: other });
      assert.equal(await primary.confirm(), ONE);
      assert.deepEqual(servers.askedForCommit, []);
      primary.close();
    }
  });

  test('names the promoted server although the old primary still responds as before', async () => {
    const { servers, primary } = await started({ [TWO]: 2 });
    assert.equal(await primary.confirm(), TWO);
    assert.equal(primary.url, TWO);
    assert.deepEqual(servers.askedForCommit, []);
    primary.close();
  });

  test('asks every server after the call, and once for all waiting calls', async () => {
    const { servers, primary } = await started({});
    const pending = () => {
      let respond = (_: ServerState): void => {};
      servers.state[TWO] = new Promise<ServerState>((resolve) => {
        respond = resolve;
      });
      return (state: ServerState) => respond(state);
    };
    const respondFirst = pending();
    const first = primary.confirm();
    while (servers.asked.length < 2) await Promise.resolve();
    const respondLater = pending();
    const later = [primary.confirm(), primary.confirm()];
    respondFirst('standby');
    assert.equal(await first, ONE);
    respondLater(2);
    assert.deepEqual(await Promise.all(later), [TWO, TWO]);
    assert.deepEqual(servers.asked, [ONE, TWO, ONE, TWO]);
    primary.close();
  });

  test('accepts a commit of the primary if another server does not respond', async () => {
    const { servers, primary } = await started({ [TWO]: 'unknown' });
    servers.commits[ONE] = Promise.resolve(true);
    assert.equal(await primary.confirm(), ONE);
    assert.deepEqual(servers.askedForCommit, [ONE]);
    primary.close();
  });

  test('also accepts a commit if a connected server is silent', async () => {
    const { servers, primary } = await started({});
    servers.state[TWO] = new Promise(() => {});
    servers.commits[ONE] = Promise.resolve(true);
    assert.equal(await primary.confirm(), ONE);
    assert.deepEqual(servers.askedForCommit, [ONE]);
    primary.close();
  });

  test('also accepts the response of a slow server', async () => {
    const { servers, primary } = await started({});
    let finish = (_: ServerState): void => {};
    servers.state[TWO] = new Promise((resolve) => {
      finish = resolve;
    });
    servers.commits[ONE] = new Promise(() => {});
    const confirmed = primary.confirm();
    while (servers.askedForCommit.length === 0) await pause(5);
    finish('standby');
    assert.equal(await confirmed, ONE);
    primary.close();
  });

  test('fails if the commit waits for the standby or fails, or if the primary has become a standby', async () => {
    const waiting = new Promise<boolean>(() => {});
    for (const commit of [waiting, Promise.resolve(false)]) {
      const { servers, primary } = await started({ [TWO]: 'unknown' }, 20);
      servers.commits[ONE] = commit;
      assert.equal(await primary.confirm(), null);
      primary.close();
    }
    const { primary } = await started({ [ONE]: 'standby' });
    assert.equal(await primary.confirm(), null);
    primary.close();
  });

  test('fails if the standby was promoted while the primary made the commit', async () => {
    const { servers, primary } = await started({ [TWO]: 'unknown' });
    let acknowledge = (_: boolean): void => {};
    servers.commits[ONE] = new Promise((resolve) => {
      acknowledge = resolve;
    });
    const confirmed = primary.confirm();
    servers.state[TWO] = 2;
    await primary.find();
    acknowledge(true);
    assert.notEqual(await confirmed, ONE);
    primary.close();
  });
});
