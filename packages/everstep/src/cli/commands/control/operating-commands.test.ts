import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { NonRetryableError, serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { CliHarness } from '../../testing/cli-harness.js';

/** Input that controls the workflow. */
interface Task {
  readonly waitFor?: string;
  readonly sleep?: string;
  readonly fail?: boolean;
  readonly secret?: string;
  readonly invoke?: boolean;
}

const DAY_MS = 86_400_000;
const TIMEOUT_MS = 20_000;

/** A workflow, and a failure callback `/failed` that always responds with 500. */
function appOf(signingKeys: { readonly current: string; readonly next: string }) {
  const workflow = toNodeHandler(
    serve<Task>(
      async (ctx) => {
        const { waitFor, sleep, fail, secret, invoke } = ctx.payload;
        if (invoke) return ctx.invoke('child', { workflow: ctx.url, payload: {}, workflowRunId: 'child' });
        if (sleep) await ctx.sleep('nap', sleep);
        if (fail) await ctx.run('work', () => Promise.reject(new NonRetryableError('set to fail')));
        if (!waitFor) return { secret };
        const event = await ctx.waitForEvent<unknown>('event', waitFor, { timeout: '1d' });
        return event.timeout ? 'nothing came' : { came: event.eventData };
      },
      { signingKeys },
    ),
  );
  return (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === '/failed') response.writeHead(500).end();
    else workflow(request, response);
  };
}

describe('operating commands', () => {
  let harness: CliHarness;
  let workflowUrl: string;
  before(async () => {
    harness = await CliHarness.open(appOf);
    workflowUrl = `${harness.appUrl}/job`;
  });
  after(() => harness.close());

  const trigger = (task: Task, ...more: readonly string[]) =>
    harness.jsonOf('trigger', workflowUrl, '-d', JSON.stringify(task), ...more);
  /** Polls until the condition is true. */
  async function until<Value>(look: () => Promise<Value>, isThere: (value: Value) => boolean): Promise<Value> {
    const giveUpAt = performance.now() + TIMEOUT_MS;
    for (;;) {
      const value = await look();
      if (isThere(value)) return value;
      if (performance.now() > giveUpAt) throw new Error(`condition not met: ${JSON.stringify(value)}`);
    }
  }
  const resultOf = async (runId: string) =>
    (
      await until(
        () => harness.jsonOf('runs', 'get', runId),
        ({ workflowState }) => workflowState !== 'RUN_STARTED',
      )
    ).result;
  const explained = (runId: string, words: RegExp) =>
    until(
      () => harness.textOf('runs', 'explain', runId),
      (text) => words.test(text),
    );

  test('notify reports that no run is waiting', async () => {
    assert.equal(await harness.textOf('notify', 'paid', '--data', 'now'), 'No runs are waiting for paid.\n');
    assert.deepEqual(await harness.jsonOf('notify', 'paid'), []);
    assert.equal(await harness.textOf('waiters', 'paid'), 'No runs are waiting for paid.\n');
  });

  test('waiters lists the runs that wait for an event, and notify delivers the event', async () => {
    await trigger({ waitFor: 'paid 1' }, '--run-id', 'waits');
    await explained('waits', /Waiting for the event "paid 1"/);
    assert.match(await harness.textOf('waiters', 'paid 1'), /^RUN +WORKFLOW +UNTIL \(UTC\)\nwaits +http:\S+\/job +\d{4}-.*\n$/);
    assert.equal((await harness.jsonOf('waiters', 'paid 1')).length, 1);
    assert.match(
      await harness.textOf('waiters'),
      /^EVENT +RUN +STEP +SINCE \(UTC\) +UNTIL \(UTC\) +WORKFLOW\npaid 1 +waits +\S.*\d{4}-.*\/job\n$/,
    );
    assert.equal((await harness.jsonOf('waiters', '--workflow-url', workflowUrl)).waiters.length, 1);
    assert.equal(
      await harness.textOf('waiters', '--workflow-url', 'http://127.0.0.1:1/x'),
      'No runs are waiting for an event.\n',
    );
    assert.equal((await harness.everstep('waiters', 'paid 1', '--workflow-url', workflowUrl)).code, 2);
    const notified = await harness.textOf('notify', 'paid 1', '--data', '{"by":"me"}');
    assert.match(notified, /^RUN +WORKFLOW +MESSAGE +EVENT\nwaits +http:\S+\/job +msg_\w+ +notified\n$/);
    assert.deepEqual(await resultOf('waits'), { came: { by: 'me' } });
  });

  test('notify --run stores the event for one run until the run waits', async () => {
    const file = join(harness.directory.path, 'event.txt');
    await writeFile(file, 'early');
    await trigger({ sleep: '1h', waitFor: 'later' }, '--run-id', 'busy');
    assert.match(
      await harness.textOf('notify', 'later', '--run', 'busy', '--data-file', file),
      /\nbusy .*stored until the run waits\n$/,
    );
    const { keptEvents } = await harness.jsonOf('runs', 'get', 'busy');
    assert.deepEqual(
      keptEvents.map(({ eventId }: { eventId: string }) => eventId),
      ['later'],
    );
    assert.equal((await harness.everstep('notify', 'later', '--run', 'missing')).code, 3);
  });

  test('runs explain shows what a run is waiting for, and that an ended run has no pending work', async () => {
    await trigger({ sleep: '2d' }, '--run-id', 'sleeper');
    assert.match(
      await explained('sleeper', /nap/),
      /^sleeper RUN_STARTED\n.*\n\nnap \(SleepFor\)\n {2}Sleeping until \d{4}-\S+Z\.\n$/,
    );
    const { tasks } = await harness.jsonOf('runs', 'explain', 'sleeper');
    assert.equal(tasks[0].reasons[0].kind, 'sleeping');
    await trigger({}, '--run-id', 'quick', '--wait');
    assert.equal(await harness.textOf('runs', 'explain', 'quick'), 'quick RUN_SUCCESS\nThe run succeeded; nothing is pending.\n');
    assert.equal((await harness.everstep('runs', 'explain', 'missing')).code, 3);
  });

  test('runs get shows invoked runs and their parent', async () => {
    await trigger({ invoke: true }, '--run-id', 'parent', '--wait');
    assert.match(
      await harness.textOf('runs', 'get', 'parent'),
      /\ninvoked +child RUN_SUCCESS\n[\s\S]*✓ {3}child +invoked run ended after/,
    );
    assert.match(await harness.textOf('runs', 'get', 'child'), /\nfrom +step "child" of parent\n/);
  });

  test('redacted values are not shown', async () => {
    await trigger({ secret: 'x-42' }, '--run-id', 'redacted', '--wait', '--redact', 'secret');
    const shown = await harness.textOf('runs', 'get', 'redacted');
    assert.match(shown, /result +\{"secret":/);
    assert.doesNotMatch(shown, /x-42/);
  });

  test('trigger --delay delays the start', async () => {
    await trigger({}, '--run-id', 'delayed', '--delay', '1h');
    assert.match(await harness.textOf('runs', 'explain', 'delayed'), /Scheduled to start at/);
  });

  test('flow shows, pauses and resumes a key', async () => {
    await trigger({}, '--wait', '--flow-control-key', 'shop', '--flow-control', 'parallelism=5, rate=1000, period=1m');
    const [head = '', row = ''] = (await harness.textOf('flow', 'list')).split('\n');
    assert.match(head, /^KEY +WAITING +IN FLIGHT +RATE +WINDOW SINCE \(UTC\) +STATE$/);
    assert.match(row, /^shop +0 +0 of 5 +\d+ of 1000 in 1 m 00 s +\d{4}-.* -$/);
    assert.match(await harness.textOf('flow', 'pause', 'shop'), / paused\n$/);
    await trigger({}, '--run-id', 'held', '--flow-control-key', 'shop');
    await explained('held', /flow control key "shop": the key is paused/);
    assert.match(await harness.textOf('flow', 'get', 'shop'), /\nshop +1 /);
    assert.match(
      await harness.textOf('flow', 'waiting', 'shop'),
      /^POSITION +RUN +STEP +SINCE \(UTC\) +WORKFLOW\n1 +held +- +\d{4}-.*\/job\n$/,
    );
    assert.equal((await harness.jsonOf('flow', 'waiting', 'shop', '--count', '5')).waitListSize, 1);
    assert.equal((await harness.jsonOf('flow', 'resume', 'shop')).isPaused, false);
    await resultOf('held');
    assert.equal((await harness.everstep('flow', 'get', 'missing')).code, 3);
    assert.match(await harness.textOf('flow', 'global'), /^\d+ of \d+ deliveries in flight\n$/);
  });

  test('flow pins and unpins limits, and resets a rate window', async () => {
    const pinned = await harness.jsonOf('flow', 'pin', 'slow', '--parallelism', '2', '--rate', '7', '--period', '1h');
    assert.deepEqual([pinned.parallelismMax, pinned.rateMax, pinned.ratePeriod], [2, 7, 3600]);
    assert.match(await harness.textOf('flow', 'get', 'slow'), / 0 of 7 in 1 h 00 m +- +parallelism pinned, rate pinned\n$/);
    await trigger({}, '--wait', '--flow-control-key', 'slow', '--flow-control', 'parallelism=9');
    const countText = await harness.jsonOf('flow', 'get', 'slow');
    assert.equal(countText.parallelismMax, 2);
    assert.ok(countText.rateCount >= 1);
    assert.equal((await harness.jsonOf('flow', 'reset-rate', 'slow')).rateCount, 0);
    const one = await harness.jsonOf('flow', 'unpin', 'slow', '--rate');
    assert.deepEqual([one.isPinnedParallelism, one.isPinnedRate], [true, false]);
    const unpinned = await harness.jsonOf('flow', 'unpin', 'slow');
    assert.deepEqual([unpinned.isPinnedParallelism, unpinned.isPinnedRate], [false, false]);
  });

  test('schedules are created, listed, shown, paused, resumed and deleted', async () => {
    const create = ['schedules', 'create', workflowUrl, '--cron', '0 9 * * 1-5', '--timezone', 'Europe/Berlin'];
    assert.equal(await harness.textOf(...create, '--id', 'daily', '-d', '{"n":1}', '--label', 'cron'), 'daily\n');
    const listed = await harness.textOf('schedules', 'list');
    assert.match(
      listed,
      /^SCHEDULE +CRON +TIME ZONE +NEXT \(UTC\) +LAST \(UTC\) +WORKFLOW\ndaily +.*0 9 \* \* 1-5 +Europe\/Berlin +\d{4}-.* - +http:/,
    );
    assert.match(
      await harness.textOf('schedules', 'get', 'daily'),
      /workflow +http:\S+\/job\n[\s\S]*labels +cron\n[\s\S]*body +\{"n":1\}\n$/,
    );
    await writeFile(join(harness.directory.path, 'payload.json'), '{"n":2}');
    const payload = `@${join(harness.directory.path, 'payload.json')}`;
    assert.match(await harness.textOf('schedules', 'change', 'daily', '--body', payload), /body +\{"n":2\}\n$/);
    await writeFile(join(harness.directory.path, 'payload.bin'), Uint8Array.of(0xff));
    const binary = await harness.everstep(
      'schedules',
      'change',
      'daily',
      '--body',
      `@${join(harness.directory.path, 'payload.bin')}`,
    );
    assert.deepEqual([binary.code, binary.stderr], [2, 'the body of a schedule must be UTF-8 text\n']);
    assert.match(await harness.textOf('schedules', 'next', 'daily', '--count', '2'), /^(\d{4}-\d\d-\d\d 0[78]:00:00\n){2}$/);
    assert.equal((await harness.jsonOf('schedules', 'next', 'daily')).fires.length, 10);
    assert.match(await harness.textOf('schedules', 'pause', 'daily'), /next +paused\n/);
    const runId = (await harness.textOf('schedules', 'run', 'daily')).trim();
    assert.match(await harness.textOf('runs', 'get', runId), /\nlabels +cron\n[\s\S]*from +schedule daily\n/);
    assert.match(await harness.textOf('schedules', 'get', 'daily'), new RegExp(`last run +${runId}\n`));
    assert.equal((await harness.jsonOf('schedules', 'resume', 'daily')).isPaused, false);
    assert.deepEqual(await harness.jsonOf('schedules', 'delete', 'daily'), { deleted: 1 });
    assert.equal((await harness.everstep('schedules', 'get', 'daily')).code, 3);
    assert.equal(await harness.textOf('schedules', 'list'), 'No schedules.\n');
  });

  test('destinations are held and released', async () => {
    assert.equal(
      await harness.textOf('destinations', 'hold', workflowUrl, '--reason', 'a deploy'),
      `${harness.appUrl} is on hold\n`,
    );
    await trigger({}, '--run-id', 'parked');
    await explained('parked', /has been held manually since .*: a deploy\./);
    assert.match(await harness.textOf('destinations', 'list'), /http:\/\/127\S+ +by hand +\d{4}-.* a deploy +0 +1 /);
    assert.deepEqual(await harness.jsonOf('destinations', 'release', harness.appUrl), { origin: harness.appUrl, isHeld: false });
    await resultOf('parked');
    assert.equal((await harness.everstep('destinations', 'release', harness.appUrl)).code, 3);
  });

  test('settings are shown and changed individually', async () => {
    const before = await harness.jsonOf('settings', 'get');
    const changed = await harness.jsonOf(
      ...['settings', 'set', '--breaker', 'on', '--breaker-failures', '7', '--breaker-probe-every', '45s'],
      ...['--keep-succeeded', 'age=7d, count=1000', '--keep-dead-letters', 'age=forever'],
    );
    assert.deepEqual(changed.breaker, { enabled: true, failures: 7, probeEveryMs: 45_000 });
    assert.deepEqual(changed.retention.succeeded, { maxAgeMs: 7 * DAY_MS, maxCount: 1000 });
    assert.equal(changed.retention.deadLetter.maxAgeMs, null);
    assert.equal(changed.retention.deadLetter.maxCount, before.retention.deadLetter.maxCount);
    assert.deepEqual(changed.retention.canceled, before.retention.canceled);
    assert.deepEqual(await harness.jsonOf('settings', 'get'), changed);
    const shown = await harness.textOf('settings', 'get');
    assert.match(shown, /^breaker: on \(holds a destination after 7 consecutive failures, with a probe every 45\.0 s\)\n/);
    assert.match(shown, /\nsucceeded +7 d 00 h +1000\n/);
    assert.match(shown, /\ndead letters +forever /);
  });

  test('a failure callback is canceled and retried', async () => {
    const callback = ['--failure-callback', `${harness.appUrl}/failed`, '--retries', '1', '--retry-delay', '3600000'];
    const task = JSON.stringify({ fail: true });
    const { code } = await harness.everstep('trigger', workflowUrl, '-d', task, '--run-id', 'fails', '--wait', ...callback);
    assert.equal(code, 1);
    assert.match(await harness.textOf('dlq', 'list', '--run-id', 'fails'), / CALLBACK_INPROGRESS +step "work".*set to fail/);
    const { messages } = await harness.jsonOf('dlq', 'list', '--run-id', 'fails');
    const { dlqId } = messages[0];
    assert.equal(await harness.textOf('dlq', 'callback', 'cancel', dlqId), 'CALLBACK_CANCELED\n');
    const again = await harness.everstep('dlq', 'callback', 'cancel', dlqId);
    assert.equal(again.code, 1);
    assert.notEqual(again.stderr, '');
    assert.deepEqual(await harness.jsonOf('dlq', 'callback', 'retry', dlqId), { failureFunctionState: 'CALLBACK_INPROGRESS' });
    assert.equal((await harness.everstep('dlq', 'callback', 'retry', 'dlq_missing')).code, 3);
  });

  test('env prints the variables of @everstep/sdk and of the published SDKs', async () => {
    const { serverEnv } = harness;
    const lines = (await harness.textOf('env')).trimEnd().split('\n');
    const names = ['URL', 'TOKEN', 'CURRENT_SIGNING_KEY', 'NEXT_SIGNING_KEY'];
    const wanted = ['EVERSTEP', 'QSTASH'].flatMap((family) => names.map((name) => `${family}_${name}`));
    assert.deepEqual(
      lines,
      wanted.map((name) => `${name}=${serverEnv[name]}`),
    );
    assert.equal((await harness.jsonOf('env')).QSTASH_TOKEN, serverEnv.QSTASH_TOKEN);
    const foreign = await harness.everstep('env', '--token', 'no-token-of-ours', '--url', serverEnv.EVERSTEP_URL ?? '');
    assert.equal(foreign.code, 2);
    assert.match(foreign.stderr, /EVERSTEP_TOKEN/);
  });

  test('signing keys are printed as environment variables and rotated', async () => {
    const { EVERSTEP_CURRENT_SIGNING_KEY: current, EVERSTEP_NEXT_SIGNING_KEY: next } = harness.serverEnv;
    assert.equal(
      await harness.textOf('keys', 'get'),
      `EVERSTEP_CURRENT_SIGNING_KEY=${current}\nEVERSTEP_NEXT_SIGNING_KEY=${next}\n`,
    );
    const rotated = await harness.jsonOf('keys', 'rotate');
    assert.equal(rotated.current, next);
    assert.notEqual(rotated.next, next);
  });

  test('origins are shown, set and reset, and message keys are printed as environment variables', async () => {
    assert.match(await harness.textOf('keys', 'origins'), /^set: not set\nfrom workflows: /);
    assert.match(await harness.textOf('keys', 'origins', 'https://A.test/', '*'), /^set: https:\/\/a\.test \*\n/);
    assert.deepEqual((await harness.jsonOf('keys', 'origins')).origins, ['https://a.test', '*']);
    assert.match(await harness.textOf('keys', 'origins', '--none'), /^set: none\n/);
    assert.equal((await harness.jsonOf('keys', 'origins', '--automatic')).origins, null);
    const { current, next } = await harness.jsonOf('keys', 'messages');
    const lines = `EVERSTEP_CURRENT_SIGNING_KEY=${current}\nEVERSTEP_NEXT_SIGNING_KEY=${next}\n`;
    assert.equal(await harness.textOf('keys', 'messages'), lines);
    assert.notEqual(current, harness.serverEnv.EVERSTEP_CURRENT_SIGNING_KEY);
  });

  test('Ed25519 signatures are turned on, rotated and turned off, and showing them changes nothing', async () => {
    assert.match(await harness.textOf('keys', 'ed25519'), /are off/);
    const url = (await harness.textOf('keys', 'ed25519', 'on')).trimEnd();
    assert.match(url, /^EVERSTEP_JWKS_URL=http:\/\/\S+\/v2\/jwks\/qi_\S+$/);
    const shown = await harness.jsonOf('keys', 'ed25519');
    const keySet = await fetch(shown.jwksUrl);
    assert.deepEqual(await keySet.json(), { keys: [shown.current, shown.next] });
    assert.deepEqual((await harness.jsonOf('keys', 'ed25519', 'rotate')).current, shown.next);
    assert.match(await harness.textOf('keys', 'ed25519', 'off'), /are off/);
    assert.equal((await fetch(shown.jwksUrl)).status, 404);
  });

  const REFUSED: readonly (readonly [string, readonly string[], number, RegExp])[] = [
    ['two sources of event data', ['notify', 'x', '-d', '1', '--data-file', 'y'], 2, /not both/],
    ['a missing event data file', ['notify', 'x', '--data-file', 'nowhere'], 2, /cannot read the body from nowhere/],
    ['a schedule without a cron expression', ['schedules', 'create', 'http://127.0.0.1:1/'], 2, /--cron/],
    ['an invalid cron expression', ['schedules', 'create', 'http://127.0.0.1:1/', '--cron', '99 * * * *'], 1, /99/],
    ['a schedule with an invalid URL', ['schedules', 'create', 'here', '--cron', '* * * * *'], 2, /absolute URL/],
    ['a missing file with the body of a schedule', ['schedules', 'change', 's', '--body', '@nowhere'], 2, /cannot read the body/],
    ['a period without a rate', ['flow', 'pin', 'x', '--period', '1m'], 2, /--rate/],
    ['a parallelism of zero', ['flow', 'pin', 'x', '--parallelism', '0'], 2, /--parallelism/],
    ['an invalid destination', ['destinations', 'hold', 'app'], 2, /absolute http or https URL/],
    ['no settings', ['settings', 'set'], 2, /at least one setting/],
    ['an invalid switch', ['settings', 'set', '--breaker', 'maybe'], 2, /on or off/],
    ['an invalid origin', ['keys', 'origins', 'https://a.test/path'], 1, /"origins\[0\]" must be an origin/],
    ['origins and --none', ['keys', 'origins', 'https://a.test', '--none'], 2, /only one of the three/],
    ['an unknown action for public keys', ['keys', 'ed25519', 'maybe'], 2, /one of on, off, rotate/],
    ['an invalid retention', ['settings', 'set', '--keep-failed', 'size=1'], 2, /age=<duration>/],
    ['an invalid retention age', ['settings', 'set', '--keep-failed', 'age=long'], 2, /duration such as/],
    [
      'failure callback headers without a callback',
      ['trigger', 'http://x/', '--failure-callback-header', 'A: b'],
      2,
      /--failure-callback/,
    ],
    ['an invalid clock duration', ['clock', 'advance', 'soon'], 2, /duration such as/],
    ['an invalid URL', ['clock', 'now', '--url', 'localhost:8080'], 2, /--url must be/],
    ['advancing a real clock', ['clock', 'advance', '1d'], 1, /--virtual-clock/],
  ];
  for (const [name, args, expected, words] of REFUSED) {
    test(`${name}: exit code ${expected}, and the reason on stderr`, async () => {
      const { code, stdout, stderr } = await harness.everstep(...args);
      assert.match(stderr, words);
      assert.deepEqual([code, stdout], [expected, '']);
    });
  }
});

describe('a server with a virtual clock', () => {
  let harness: CliHarness;
  before(async () => {
    harness = await CliHarness.open(appOf, ['--virtual-clock']);
  });
  after(() => harness.close());

  test('clock prints and advances the time', async () => {
    const { now } = await harness.jsonOf('clock', 'now');
    assert.match(await harness.textOf('clock', 'now'), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n$/);
    await harness.jsonOf('trigger', `${harness.appUrl}/job`, '-d', '{"sleep":"6d"}', '--run-id', 'month');
    const moved = await harness.textOf('clock', 'advance', '7d');
    assert.match(moved, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d; \d+ timers? fired\n$/);
    assert.ok((await harness.jsonOf('clock', 'now')).now >= now + 7 * DAY_MS);
    assert.equal((await harness.jsonOf('runs', 'get', 'month')).workflowState, 'RUN_SUCCESS');
  });

  test('runs get shows which schedule started a run', async () => {
    await harness.textOf('schedules', 'create', `${harness.appUrl}/job`, '--cron', '0 0 * * *', '--id', 'daily', '-d', '{}');
    await harness.textOf('clock', 'advance', '1d');
    const { lastScheduleRunId } = await harness.jsonOf('schedules', 'get', 'daily');
    assert.match(await harness.textOf('runs', 'get', lastScheduleRunId), /\nfrom +schedule daily\n/);
  });
});
