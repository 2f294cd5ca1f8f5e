import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { NonRetryableError, serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import type { Command } from 'commander';
import { createProgram } from './program.js';
import { CliHarness } from './testing/cli-harness.js';
import type { EndedProcess } from './testing/spawned-cli.js';

/** Input that controls the workflow. */
interface Task {
  readonly fail?: boolean;
  readonly sleep?: number;
  readonly value?: number;
}

describe('client commands', () => {
  let harness: CliHarness;
  let workflowUrl: string;
  let isBroken = true;

  before(async () => {
    harness = await CliHarness.open((signingKeys) => {
      const workflow = serve<Task>(
        async (ctx) => {
          const first = await ctx.run('first', () => ctx.payload.value ?? 1);
          if (ctx.payload.sleep) await ctx.sleep('nap', ctx.payload.sleep);
          await ctx.run('second', () => {
            if (ctx.payload.fail && isBroken) throw new NonRetryableError('set to fail');
            return first + 1;
          });
          return { sum: first + 1 };
        },
        { signingKeys },
      );
      return toNodeHandler(workflow);
    });
    workflowUrl = `${harness.appUrl}/job`;
  });

  after(() => harness.close());

  const everstep = (...args: readonly string[]): Promise<EndedProcess> => harness.everstep(...args);
  const jsonOf = (...args: readonly string[]) => harness.jsonOf(...args);

  const trigger = (task: Task, ...more: readonly string[]) =>
    jsonOf('trigger', workflowUrl, '--body', JSON.stringify(task), '--wait', ...more);

  const failingRun = async (label: string): Promise<string> => {
    isBroken = true;
    const { code, stdout } = await everstep(
      ...['trigger', workflowUrl, '-d', '{"fail":true}', '--wait', '--label', label, '--json'],
    );
    assert.equal(code, 1);
    return JSON.parse(stdout).workflowRunId;
  };

  test('trigger starts a run, and with --wait prints its result', async () => {
    const started = await everstep('trigger', workflowUrl, '--run-id', 'first-run');
    assert.deepEqual([started.code, started.stdout, started.stderr], [0, 'first-run\n', '']);
    const waited = await everstep('trigger', workflowUrl, '--body', '{"value":41}', '--wait', '10s');
    assert.equal(waited.code, 0, waited.stderr);
    assert.match(waited.stdout, /^wfr_\w+ RUN_SUCCESS\n\{\n {2}"sum": 42\n\}\n$/);
  });

  test('trigger --wait exits with 1 when the run fails', async () => {
    const { code, stdout } = await everstep('trigger', workflowUrl, '-d', '{"fail":true}', '--wait', '--label', 'exit-code');
    assert.equal(code, 1);
    assert.match(stdout, /RUN_FAILED: .*set to fail/);
  });

  test('trigger --wait exits with 5 when the run is still running', async () => {
    const more = ['--wait', '0s', '--label', 'exit-code'];
    const { code, stdout } = await everstep('trigger', workflowUrl, '-d', '{"sleep":3600}', ...more);
    assert.equal(code, 5);
    assert.match(stdout, /^wfr_\w+ RUN_STARTED\n$/);
  });

  test('runs list prints matching runs as a table or JSON', async () => {
    await trigger({}, '--label', 'listed');
    await trigger({}, '--label', 'listed');
    const { stdout } = await everstep('runs', 'list', '--label', 'listed');
    const [head = '', ...rows] = stdout.trimEnd().split('\n');
    assert.match(head, /^RUN +STATE +CREATED \(UTC\) +DURATION +WORKFLOW +LABELS$/);
    assert.equal(rows.length, 2);
    for (const row of rows) assert.match(row, /^wfr_\w+ +RUN_SUCCESS +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +\d.* listed$/);
    const { runs } = await jsonOf('runs', 'list', '--label', 'listed', '--state', 'success', '--count', '1');
    assert.equal(runs.length, 1);
    assert.match((await everstep('runs', 'list', '--label', 'unused')).stdout, /^No matching runs/);
  });

  test('runs list shows what a run waits for instead of its state', async () => {
    await everstep('trigger', workflowUrl, '--label', 'sleeps', '--delay', '1h');
    assert.match((await everstep('runs', 'list', '--label', 'sleeps')).stdout, /Waiting for its start time/);
  });

  test('runs list --all reads all pages', async () => {
    for (let i = 0; i < 12; i++) await everstep('trigger', workflowUrl, '--label', 'paged');
    const { runs } = await jsonOf('runs', 'list', '--label', 'paged', '--all');
    assert.equal(new Set(runs.map((run: { workflowRunId: string }) => run.workflowRunId)).size, 12);
  });

  test('runs search finds runs by words, and reports when there may be more', async () => {
    for (let i = 0; i < 3; i++) await trigger({}, '--label', 'needle', '--label', `n-${i}`);
    assert.match(
      (await everstep('runs', 'search', 'NEEDLE', 'n-1')).stdout,
      /^RUN +STATE +CREATED \(UTC\) +WORKFLOW +LABELS +ERROR\nwfr_\w+ +RUN_SUCCESS .* needle,n-1 +-\n$/,
    );
    const { runs, complete } = await jsonOf('runs', 'search', 'needle', '--state', 'success');
    assert.deepEqual([runs.length, complete], [3, true]);
    assert.match(
      (await everstep('runs', 'search', 'needle', '--count', '2')).stdout,
      /\nThere may be more\. Show more with --count/,
    );
    assert.match((await everstep('runs', 'search', 'no such thing')).stdout, /^No matching runs/);
  });

  test('runs attempts shows requests and responses', async () => {
    const failed = await everstep(
      'trigger',
      workflowUrl,
      '-d',
      '{"fail":true}',
      '--run-id',
      'attempted',
      '--retries',
      '0',
      '--wait',
    );
    assert.equal(failed.code, 1);
    const { stdout } = await everstep('runs', 'attempts', 'attempted');
    assert.match(stdout, /attempt 1: failed after \d+/);
    assert.match(stdout, /\n {2}request +POST http:\S+ \(\d+ bytes\)\n/);
    assert.match(stdout, /Signature: \[NOT KEPT\]/);
    assert.match(stdout, /\n {2}response +\d{3} \(\d+ bytes\)\n/);
    const { attempts } = await jsonOf('runs', 'attempts', 'attempted');
    assert.equal(attempts.at(-1).outcome, 'failed');
    assert.ok(attempts.at(-1).durationMs >= 0 && attempts.at(-1).startedAt > 0);
    assert.equal((await everstep('runs', 'attempts', 'nobody')).code, 3);
  });

  test('runs get shows the steps', async () => {
    const { workflowRunId } = await trigger({ value: 7 });
    const { stdout } = await everstep('runs', 'get', workflowRunId);
    assert.match(stdout, /state +RUN_SUCCESS/);
    assert.match(stdout, /result +\{"sum":8\}/);
    assert.match(stdout, /✓ +first +done in/);
    assert.equal((await jsonOf('runs', 'get', workflowRunId)).steps.length, 2);
  });

  test('runs cancel cancels one run by id, or several by filter', async () => {
    for (const id of ['nap-1', 'nap-2', 'nap-3']) {
      await everstep('trigger', workflowUrl, '-d', '{"sleep":600}', '--run-id', id, '--label', 'napping');
    }
    assert.deepEqual(await jsonOf('runs', 'cancel', 'nap-1'), { cancelled: 1 });
    assert.deepEqual(await jsonOf('runs', 'cancel', '--label', 'napping'), { cancelled: 2 });
    const again = await everstep('runs', 'cancel', 'nap-1');
    assert.equal(again.code, 1);
    assert.notEqual(again.stderr, '');
    assert.equal((await jsonOf('runs', 'get', 'nap-2')).workflowState, 'RUN_CANCELED');
  });

  test('a dead letter is listed, shown and resumed', async () => {
    const workflowRunId = await failingRun('one');
    const { stdout } = await everstep('dlq', 'list', '--run-id', workflowRunId);
    const dlqId = /dlq_\w+/.exec(stdout)?.[0] ?? '';
    assert.match(stdout, /set to fail/);
    assert.match((await everstep('dlq', 'get', dlqId)).stdout, /error +.*set to fail/);
    isBroken = false;
    const { workflowRuns } = await jsonOf('dlq', 'resume', dlqId, '--new-run-id', 'resumed-run');
    assert.equal(workflowRuns[0].workflowRunId, 'resumed-run');
    const gone = await everstep('dlq', 'resume', dlqId);
    assert.equal(gone.code, 3);
    assert.match(gone.stderr, new RegExp(dlqId));
  });

  test('bulk restart, resume and delete apply the filters and require --all', async () => {
    for (let i = 0; i < 3; i++) await failingRun('bulk');
    const newest = (await jsonOf('dlq', 'list', '--label', 'bulk')).messages;
    const oldest = (await jsonOf('dlq', 'list', '--label', 'bulk', '--oldest-first')).messages;
    assert.deepEqual([newest.length > 1, oldest], [true, newest.toReversed()]);
    const unsaid = await everstep('dlq', 'delete', '--label', 'bulk');
    assert.equal(unsaid.code, 2);
    assert.match(unsaid.stderr, /--all/);
    isBroken = false;
    assert.equal((await jsonOf('dlq', 'restart', '--all', '--label', 'bulk', '--count', '1')).workflowRuns.length, 1);
    assert.equal((await jsonOf('dlq', 'resume', '--all', '--label', 'bulk', '--count', '1')).workflowRuns.length, 1);
    assert.deepEqual(await jsonOf('dlq', 'delete', '--all', '--label', 'bulk'), { deleted: 1 });
    assert.deepEqual((await jsonOf('dlq', 'list', '--label', 'bulk')).messages, []);
  });

  test('dlq groups lists errors, and dead letters are filtered by group', async () => {
    await failingRun('grouped');
    const { groups } = await jsonOf('dlq', 'groups', '--state', 'new', '--state', 'regressed');
    const group = groups[0];
    assert.match((await everstep('dlq', 'groups')).stdout, new RegExp(`${group.fingerprint} +new +\\d+ .*set to fail`));
    assert.match(
      (await everstep('dlq', 'groups', 'get', group.fingerprint)).stdout,
      /First seen .* UTC[\s\S]*Message pattern: .*set to fail[\s\S]*failed:\n {2}.*set to fail/,
    );
    const marked = await everstep('dlq', 'groups', 'acknowledge', group.fingerprint);
    assert.equal(marked.stdout, `${group.fingerprint} acknowledged\n`);
    assert.equal((await jsonOf('dlq', 'groups', 'get', group.fingerprint)).state, 'known');
    assert.equal(typeof (await jsonOf('dlq', 'groups', 'resolve', group.fingerprint)).resolvedAt, 'number');
    const note = (await jsonOf('dlq', 'groups', 'note', group.fingerprint, 'the provider is down')).notes[0];
    const snoozed = await everstep('dlq', 'groups', 'snooze', group.fingerprint, '7d');
    assert.match(snoozed.stdout, /snoozed until \d{4}-\d\d-\d\d \d\d:\d\d/);
    assert.match(
      (await everstep('dlq', 'groups', 'get', group.fingerprint)).stdout,
      new RegExp(`Snoozed until .* UTC by token .*[\\s\\S]*Note ${note.noteId} by .*\\n {2}the provider is down`),
    );
    const [email] = (await jsonOf('dlq', 'groups', 'assignees')).assignees;
    const assigned = await everstep('dlq', 'groups', 'assign', group.fingerprint, email);
    assert.equal(assigned.stdout, `${group.fingerprint} assigned to ${email}\n`);
    assert.equal((await jsonOf('dlq', 'list', '--fingerprint', group.fingerprint)).messages.length, group.count);
    assert.deepEqual(await jsonOf('dlq', 'delete', '--all', '--fingerprint', group.fingerprint), { deleted: group.count });
    assert.match((await everstep('dlq', 'groups')).stdout, /^No matching groups/);
    assert.equal((await jsonOf('dlq', 'groups', '--with-empty')).groups[0].fingerprint, group.fingerprint);
    const wrong = await everstep('dlq', 'groups', '--state', 'old');
    assert.match(wrong.stderr, /--state must be one of new, known, regressed/);
  });

  test('dlq delete --all without a filter deletes everything', async () => {
    await failingRun('rest');
    assert.ok((await jsonOf('dlq', 'delete', '--all')).deleted >= 1);
    assert.match((await everstep('dlq', 'list')).stdout, /^No matching dead letters/);
  });

  test('without a URL and token, the credentials in the local data directory are used', async () => {
    const { code, stderr } = await harness.runIn({}, ['runs', 'list']);
    assert.equal(code, 0, stderr);
  });

  const REFUSED: readonly (readonly [string, readonly string[], number, RegExp])[] = [
    ['a run that does not exist', ['runs', 'get', 'nobody'], 3, /nobody/],
    ['a dead letter that does not exist', ['dlq', 'get', 'dlq_nobody'], 3, /dlq_nobody/],
    ['a bad token', ['runs', 'list', '--token', 'x'], 1, /token/],
    [
      'an unreachable server',
      ['runs', 'list', '--url', 'http://127.0.0.1:9'],
      4,
      /no (answer|response) from http:\/\/127\.0\.0\.1:9/,
    ],
    ['an invalid workflow URL', ['trigger', 'nowhere'], 2, /absolute URL/],
    ['a workflow URL of another scheme', ['trigger', 'ftp://x/y'], 1, /http/],
    ['a bad retry expression', ['trigger', 'http://127.0.0.1:1/', '--retry-delay', 'retried +'], 1, /retr/i],
    ['an invalid number of retries', ['trigger', 'http://127.0.0.1:1/', '--retries', '-1'], 2, /--retries/],
    ['an invalid duration', ['trigger', 'http://127.0.0.1:1/', '--delay', 'soon'], 2, /duration/],
    [
      'flow control limits without a key',
      ['trigger', 'http://127.0.0.1:1/', '--flow-control', 'rate=1'],
      2,
      /--flow-control-key/,
    ],
    ['invalid flow control limits', ['dlq', 'resume', 'dlq_1', '--set-flow-control', 'speed=1'], 2, /parallelism=<n>/],
    ['an unknown state', ['runs', 'list', '--state', 'lost'], 2, /RUN_STARTED/],
    ['an invalid date', ['runs', 'list', '--from', 'yesterday'], 2, /--from/],
    ['a count of zero', ['dlq', 'list', '--count', '0'], 2, /--count/],
    ['cancel without a selection', ['runs', 'cancel'], 2, /Specify either run ids or filters/],
    ['resume without a selection', ['dlq', 'resume'], 2, /Give a dead letter id, or --all/],
    ['resume of one and all', ['dlq', 'resume', 'dlq_1', '--all'], 2, /not both/],
    ['a new run id for many', ['dlq', 'resume', '--all', '--new-run-id', 'x'], 2, /single dead letter/],
    ['an unknown command', ['rnus'], 2, /unknown command/],
    ['an unknown option', ['runs', 'list', '--nope'], 2, /unknown option/],
    ['an invalid URL', ['runs', 'list', '--url', 'localhost:8080'], 2, /--url must be/],
  ];
  for (const [name, args, expected, words] of REFUSED) {
    test(`${name}: exit code ${expected}, and the reason on stderr`, async () => {
      const { code, stdout, stderr } = await everstep(...args);
      assert.match(stderr, words);
      assert.deepEqual([code, stdout], [expected, '']);
    });
  }

  test('a stored token is sent only to the URL it was created for', async () => {
    const { code, stderr } = await harness.runIn({}, ['runs', 'list', '--url', 'http://127.0.0.1:9']);
    assert.equal(code, 2);
    assert.match(stderr, /No token/);
  });

  test('--help lists the commands and exit codes', async () => {
    const { code, stdout } = await everstep('--help');
    assert.equal(code, 0);
    for (const word of [
      'dev',
      'serve',
      'trigger',
      'runs',
      'dlq',
      'notify',
      'waiters',
      'schedules',
      'flow',
      'destinations',
      'messages',
      'queues',
      'url-groups',
      'settings',
      'keys',
      'admin',
      'clock',
      'Exit codes:',
      'EVERSTEP_TOKEN',
    ]) {
      assert.ok(stdout.includes(word), word);
    }
    assert.match((await everstep('dev', '--help')).stdout, /--data-dir <path>.*\n[\s\S]*EVERSTEP_DATA_DIR/);
    assert.match((await everstep('--version')).stdout, /^\d+\.\d+\.\d+\n$/);
  });

  test('docs/operations/command-line.md lists every command', async () => {
    const page = await readFile(new URL('../../../../docs/operations/command-line.md', import.meta.url), 'utf8');
    const shell = { screen: { write: () => {}, hasColors: false, isTerminal: false }, printError: () => {}, env: {}, cwd: '' };
    const namesOf = (command: Command): readonly string[] =>
      command.commands.length === 0
        ? [command.name()]
        : command.commands.flatMap(namesOf).map((name) => `${command.name()} ${name}`);
    const listed = [...page.matchAll(/^\| `(everstep [a-z0-9 -]*[a-z0-9])/gm)].map(([, name]) => name);
    assert.deepEqual(listed.sort(), [...namesOf(createProgram(shell, () => {}))].sort());
  });
});
