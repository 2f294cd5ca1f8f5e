/** A server never starts silently on files that have lost acknowledged changes. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cp, mkdtemp, open, readdir, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SeededRandom } from '../../clock/testing/seeded-random.js';
import { ServerProcess } from '../service-process.fixture.js';

const BIN = fileURLToPath(new URL('../../cli/bin.js', import.meta.url));
const RUNS = 60;
const KILLS = 4;
/** URL without a server, so that the runs stay active. */
const ENDPOINT = 'http://127.0.0.1:9/orders';

interface EndedProcess {
  readonly code: number | null;
  readonly output: string;
}

function everstep(...args: readonly string[]): Promise<EndedProcess> {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('EVERSTEP_')));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', BIN, ...args], { env: inherited });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })));
}

async function trigger(service: ServerProcess, id: string): Promise<void> {
  const { status } = await service.request('POST', `/v2/trigger/${ENDPOINT}`, {
    'svc-workflow-runid': id,
    'svc-retries': '10',
    'svc-retry-delay': '600000',
  });
  assert.equal(status, 200);
}

async function hasRun(service: ServerProcess, id: string): Promise<boolean> {
  const { status, body } = await service.request('GET', `/v2/workflows/logs?workflowRunId=${id}`);
  assert.equal(status, 200);
  return (body as { readonly runs: readonly unknown[] }).runs.length > 0;
}

async function flipAt(path: string, share: number): Promise<void> {
  const file = await open(path, 'r+');
  const at = Math.floor((await file.stat()).size * share);
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, at);
  await file.write(Buffer.from([(buffer[0] ?? 0) ^ 1]), 0, 1, at);
  await file.close();
}

const DAMAGES: readonly (readonly [what: string, damage: (data: string) => Promise<void>, words: RegExp])[] = [
  ['a flipped bit at 30% of the log', (data) => flipAt(join(data, 'everstep.db-wal'), 0.3), /damaged in frame \d+/],
  ['a flipped bit at 70% of the log', (data) => flipAt(join(data, 'everstep.db-wal'), 0.7), /damaged in frame \d+/],
  [
    'half of the log',
    async (data) => truncate(join(data, 'everstep.db-wal'), (await stat(join(data, 'everstep.db-wal'))).size / 2),
    /ends after frame \d+/,
  ],
  ['no log', (data) => rm(join(data, 'everstep.db-wal')), /Its log everstep\.db-wal is missing/],
  ['no database', (data) => rm(join(data, 'everstep.db')), /everstep\.db is missing, but/],
  ['an empty database', (data) => truncate(join(data, 'everstep.db'), 0), /everstep\.db is empty, but/],
  [
    'only credentials',
    async (data) => {
      for (const name of await readdir(data)) if (name.startsWith('everstep.db')) await rm(join(data, name));
    },
    /everstep\.db is missing, but .*credentials\.json shows/,
  ],
];

describe('files of a killed server', () => {
  let directory = '';
  /** Data directory after the kill, with 60 acknowledged runs. */
  let killed = '';
  const dataOf = async (name: string): Promise<string> => {
    const data = join(directory, name);
    await cp(killed, data, { recursive: true, filter: (path) => !path.endsWith('control.sock') });
    return data;
  };

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'everstep-damaged-files-'));
    killed = join(directory, 'killed');
    const service = await ServerProcess.create({ EVERSTEP_DATA_DIR: killed });
    await service.start();
    // Runs are triggered one after the other, so that each has its own commits.
    for (let n = 0; n < RUNS; n++) await trigger(service, `run-${n}`);
    await service.dispose();
  });
  after(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));

  /** Returns how many of the 60 runs the server has. */
  async function countRuns(service: ServerProcess): Promise<number> {
    const found = await Promise.all(Array.from({ length: RUNS }, (_, n) => hasRun(service, `run-${n}`)));
    return found.filter(Boolean).length;
  }

  test('intact files pass verification and contain all runs', async () => {
    const data = await dataOf('whole');
    const verified = await everstep('verify', '--data-dir', data);
    assert.equal(verified.code, 0, verified.output);
    assert.match(verified.output, /runs +60/);
    assert.match(verified.output, /is valid/);
    const service = await ServerProcess.create({ EVERSTEP_DATA_DIR: data });
    try {
      await service.start();
      assert.equal(await countRuns(service), RUNS);
      const running = await everstep('verify', '--data-dir', data, '--json');
      assert.equal(running.code, 0, running.output);
      const { online, counts } = JSON.parse(running.output);
      assert.deepEqual([online, counts.runs], [true, RUNS]);
      assert.ok(!(await readdir(data)).some((name) => name.startsWith('verify.')), 'the copy is removed');
    } finally {
      await service.dispose();
    }
  });

  for (const [index, [what, damage, words]] of DAMAGES.entries()) {
    test(`with ${what} are refused with the reason and instructions`, async () => {
      const data = await dataOf(what.replaceAll(/\W/g, '-'));
      await damage(data);
      // All commands share the check.
      const commands = index > 0 ? [['serve', '--port', '0']] : [['dev', '--port', '0', '--no-demo'], ['verify']];
      for (const args of commands) {
        const { code, output } = await everstep(...args, '--data-dir', data);
        assert.equal(code, 1, output);
        assert.match(output, words);
        assert.match(output, /Restore a backup, or start with --accept-loss/);
        assert.doesNotMatch(output, /is listening on/);
      }
    });
  }

  test('damaged files are opened with --accept-loss, and the loss is logged', async () => {
    const data = await dataOf('accepted');
    await flipAt(join(data, 'everstep.db-wal'), 0.3);
    const service = await ServerProcess.create({ EVERSTEP_DATA_DIR: data, EVERSTEP_ACCEPT_LOSS: '1' });
    const again = await ServerProcess.create({ EVERSTEP_DATA_DIR: data });
    try {
      await service.start();
      const left = await countRuns(service);
      assert.ok(left < RUNS, `${left} runs`);
      const [copy = ''] = (await readdir(data)).filter((name) => name.startsWith('everstep.db.damaged-'));
      assert.deepEqual((await readdir(join(data, copy))).sort(), ['everstep.db', 'everstep.db-mark', 'everstep.db-wal']);
      assert.match(service.printed, /opened a damaged store because --accept-loss is set/);
      await trigger(service, 'after');
      await service.end('SIGKILL');
      await again.start();
      assert.ok(await hasRun(again, 'after'));
      assert.equal(await countRuns(again), left);
    } finally {
      await service.dispose();
      await again.dispose();
    }
  });
});

test(`a server killed ${KILLS} times at random moments always starts`, async (t) => {
  const random = new SeededRandom(11);
  const directory = await mkdtemp(join(tmpdir(), 'everstep-killed-'));
  t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));
  const service = await ServerProcess.create({ EVERSTEP_DATA_DIR: join(directory, 'data') });
  t.after(() => service.dispose());
  const acknowledged: string[] = [];
  for (let life = 0; life < KILLS; life++) {
    if (random.chance(0.3)) {
      // The server is killed during startup.
      await service.spawn();
      await pause(random.below(600));
      await service.end('SIGKILL');
    }
    await service.start();
    const ending = new AbortController();
    const load = Promise.all(
      Array.from({ length: 4 }, async (_, client) => {
        for (let n = 0; !ending.signal.aborted; n++) {
          const id = `life-${life}-${client}-${n}`;
          const answered = await trigger(service, id).then(
            () => true,
            (error) => {
              // fetch throws a TypeError when the server was killed before it could respond.
              if (error instanceof TypeError || error instanceof SyntaxError) return false;
              throw error;
            },
          );
          if (!answered) return;
          acknowledged.push(id);
        }
      }),
    );
    await pause(random.below(500));
    await service.end('SIGKILL');
    ending.abort();
    await load;
    assert.equal((await everstep('verify', '--data-dir', join(directory, 'data'))).code, 0);
  }
  await service.start();
  assert.ok(acknowledged.length > 0);
  for (const id of acknowledged) assert.ok(await hasRun(service, id), id);
  await service.end('SIGTERM');
});
