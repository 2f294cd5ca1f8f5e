import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CliHarness } from '../../testing/cli-harness.js';

describe('account commands', () => {
  let harness: CliHarness;
  let login: Readonly<Record<string, string>>;
  before(async () => {
    harness = await CliHarness.open(() => (_request, response) => void response.end());
    const { EVERSTEP_MANAGEMENT_URL = '', EVERSTEP_ADMIN_EMAIL = '', EVERSTEP_ADMIN_API_KEY = '' } = harness.serverEnv;
    login = { EVERSTEP_MANAGEMENT_URL, EVERSTEP_ADMIN_EMAIL, EVERSTEP_ADMIN_API_KEY };
  });
  after(() => harness.close());

  const run = (...args: readonly string[]) => harness.runIn(login, ['admin', ...args]);
  async function textOf(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await run(...args);
    assert.deepEqual([code, stderr], [0, '']);
    return stdout;
  }
  const jsonOf = async (...args: readonly string[]) => JSON.parse(await textOf(...args, '--json'));
  const lineOf = async (...args: readonly string[]) => (await textOf(...args)).trim();

  test('account shows the user and the accounts of the user', async () => {
    const { id, email } = await jsonOf('account');
    assert.equal(email, login.EVERSTEP_ADMIN_EMAIL);
    const text = await textOf('account');
    assert.match(text, /^\S+@\S+, since \d{4}-.* UTC\n\nACCOUNT +KIND +ROLE\n/);
    assert.ok(text.includes(`${id}  personal  owner\n`), text);
  });

  test('log-level changes the level of the running server, and the change is in the audit log', async () => {
    assert.equal(await textOf('log-level', 'get'), 'warn\n');
    assert.equal(await textOf('log-level', 'set', 'debug'), 'debug (warn after a restart)\n');
    assert.deepEqual(await jsonOf('log-level', 'get'), { level: 'debug', configured_level: 'warn', node_id: 'n_alone' });
    const [entry] = await jsonOf('audit', '--limit', '1');
    assert.deepEqual([entry.action, entry.subject, entry.actor], ['log-level.set', 'debug', login.EVERSTEP_ADMIN_EMAIL]);
    assert.equal(await textOf('log-level', 'set', 'warn'), 'warn\n');
    const wrong = await run('log-level', 'set', 'loud');
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /must be one of debug, info, warn, error, silent/);
  });

  test('a new API key is valid until it is revoked', async () => {
    const { id, api_key } = await jsonOf('keys', 'create', 'ci');
    assert.match(await textOf('keys', 'list'), new RegExp(`^KEY +NAME +CREATED .*\\n[\\s\\S]*${id} +ci +\\d{4}-\\S+ \\S+ +-\\n`));
    assert.equal((await run('account', '--api-key', api_key)).code, 0);
    assert.equal(await textOf('keys', 'revoke', id), '1 revoked\n');
    const refused = await run('account', '--api-key', api_key);
    assert.deepEqual([refused.code, refused.stdout], [1, '']);
    assert.match(await textOf('keys', 'list'), new RegExp(`${id} +ci +\\d{4}-\\S+ \\S+ +\\d{4}-`));
    assert.match(await textOf('keys', 'create', 'other'), /^ek_\S+\n$/);
  });

  test('a named token is created with scopes, rotated with an overlap, and revoked', async () => {
    const instanceId = (await jsonOf('instances', 'create', 'tokens', '--region', 'eu-central-1')).id;
    const token = await lineOf(
      'tokens',
      'create',
      instanceId,
      'checkout app',
      '--scope',
      'trigger',
      'notify',
      '--expires',
      '90d',
    );
    assert.match(token, /^est_[\w-]{43}$/);
    const trigger = (given: string) =>
      harness.runIn({ EVERSTEP_URL: harness.serverEnv.EVERSTEP_URL ?? '', EVERSTEP_TOKEN: given }, [
        'notify',
        'no-waiters',
        '--json',
      ]);
    assert.equal((await trigger(token)).code, 0);
    const named = (await jsonOf('tokens', 'list', instanceId)).at(-1);
    assert.deepEqual([named.name, named.scopes, named.is_permanent], ['checkout app', ['trigger', 'notify'], false]);
    const next = await lineOf('tokens', 'rotate', instanceId, named.id, '--overlap', '1h');
    assert.deepEqual([(await trigger(token)).code, (await trigger(next)).code], [0, 0]);
    assert.equal(await textOf('tokens', 'revoke', instanceId, named.id), '1 revoked\n');
    assert.deepEqual([(await trigger(token)).code, (await trigger(next)).code], [1, 0]);
    const text = await textOf('tokens', 'list', instanceId);
    assert.match(
      text,
      new RegExp(`^TOKEN +NAME +SCOPES +STATE .*\\n[\\s\\S]*${named.id} +checkout app +trigger notify +revoked `),
    );
    assert.ok(!text.includes(token) && !text.includes(next));
  });

  test('team members are invited, accept, and change roles', async () => {
    assert.equal(await textOf('teams', 'list'), 'No teams.\n');
    const teamId = await lineOf('teams', 'create', 'Shop');
    assert.match(
      await textOf('teams', 'list'),
      new RegExp(`^TEAM +NAME +YOUR ROLE +CREATED .*\\n${teamId} +Shop +owner +\\d{4}-`),
    );
    const added = await textOf('members', 'add', teamId, 'ada@example.com', '--role', 'dev');
    const [, secret = ''] = /^ada@example\.com invited as dev until .*\nSend this secret to .*\n(inv_\S+)\n$/.exec(added) ?? [];
    const [pending] = await jsonOf('invitations', 'list', teamId);
    assert.match(await textOf('invitations', 'list', teamId), new RegExp(`${pending.id} +ada@example\\.com +dev +\\d{4}-`));
    const accepted = await textOf('invitations', 'accept', secret);
    const [, apiKey = ''] = /^You joined Shop as dev\.\nSign in as ada@example\.com .*\n(ek_\S+)\n$/.exec(accepted) ?? [];
    assert.equal((await run('invitations', 'accept', secret)).code, 3);
    const asAda = ['--email', 'ada@example.com', '--api-key', apiKey];
    assert.match((await run('teams', 'list', ...asAda)).stdout, /Shop +dev /);
    const denied = await run('members', 'remove', teamId, login.EVERSTEP_ADMIN_EMAIL ?? '', ...asAda);
    assert.match(denied.stderr, /the role dev cannot/);
    assert.equal(denied.code, 1);
    assert.equal(
      await textOf('members', 'add', teamId, 'ada@example.com', '--role', 'finance'),
      'ada@example.com has role finance\n',
      'a member is not invited again',
    );
    assert.match(
      await textOf('members', 'list', teamId),
      /^MEMBER +ROLE +SINCE \(UTC\)\n[\s\S]*ada@example\.com +finance +\d{4}-/,
    );
    assert.equal(await textOf('members', 'remove', teamId, 'ada@example.com'), '1 removed\n');
    assert.equal((await jsonOf('members', 'list', teamId)).length, 1);
    const again = await jsonOf('members', 'add', teamId, 'ada@example.com', '--role', 'dev');
    assert.equal(await textOf('invitations', 'join', again.invitation_secret, ...asAda), 'You joined Shop as dev\n');
    const third = await jsonOf('members', 'add', teamId, 'bob@example.com', '--role', 'dev');
    assert.equal(await textOf('invitations', 'revoke', third.id), '1 revoked\n');
    assert.equal(await textOf('invitations', 'list', teamId), 'No pending invitations.\n');
    assert.equal(await textOf('teams', 'delete', teamId), '1 deleted\n');
    assert.deepEqual(await jsonOf('teams', 'list'), []);
  });

  test('users are listed, disabled, made operators and deleted', async () => {
    const teamId = await lineOf('teams', 'create', 'Staff');
    const { invitation_secret } = await jsonOf('members', 'add', teamId, 'eve@example.com', '--role', 'dev');
    const { id, api_key } = await jsonOf('invitations', 'accept', invitation_secret);
    const asEve = ['--email', 'eve@example.com', '--api-key', api_key];
    assert.match(await textOf('users', 'list'), new RegExp(`${id} +eve@example\\.com`));
    assert.equal(await textOf('users', 'disable', 'Eve@example.com'), 'disabled\n');
    assert.equal((await run('account', ...asEve)).code, 1);
    assert.equal(await textOf('users', 'enable', id), 'enabled\n');
    assert.equal((await run('users', 'list', ...asEve)).code, 1);
    assert.equal(await textOf('users', 'grant-operator', id), 'granted\n');
    assert.equal((await run('users', 'list', ...asEve)).code, 0);
    assert.equal(await textOf('users', 'revoke-operator', id), 'revoked\n');
    assert.equal(await textOf('users', 'end-sessions', id), 'ended\n');
    assert.equal(await textOf('users', 'revoke-keys', id), 'revoked\n');
    assert.equal((await run('account', ...asEve)).code, 1);
    assert.equal(await textOf('users', 'delete', id), '1 deleted\n');
    assert.equal((await run('users', 'delete', 'eve@example.com')).code, 2);
    assert.equal((await run('users', 'disable', login.EVERSTEP_ADMIN_EMAIL ?? '')).code, 1, 'the last operator');
    assert.equal(await textOf('teams', 'delete', teamId), '1 deleted\n');
  });

  test('a queue instance is created, gets new tokens, and moves to a team', async () => {
    const { id, token } = await jsonOf('instances', 'create', 'Mail', '--region', 'us-east-1');
    assert.match(
      await textOf('instances', 'list'),
      new RegExp(`^INSTANCE +NAME [\\s\\S]*${id} +Mail +us-east-1 +usr_\\S+ +owner +default +-\\n`),
    );
    assert.match(
      await textOf('instances', 'get', id),
      new RegExp(`^instance +${id}\\nname +Mail\\n[\\s\\S]*budget +no limit\\n`),
    );
    const rotated = await textOf('instances', 'rotate-tokens', id);
    assert.match(rotated, /\ntoken +\S+\nread only +\S+\n$/);
    assert.ok(!rotated.includes(token));
    const teamId = await lineOf('teams', 'create', 'Post');
    assert.equal(await textOf('instances', 'move', id, teamId), `${id} now belongs to ${teamId}\n`);
    assert.equal((await jsonOf('instances', 'get', id)).customer_id, teamId);
    const { customer_id } = await jsonOf('instances', 'create', 'Letters', '--region', 'us-east-1', '--team', teamId);
    assert.equal(customer_id, teamId);
    assert.equal((await run('teams', 'delete', teamId)).code, 1, 'it owns queue instances');
  });

  test('the command for queue instances also has the name queues, as in earlier versions', async () => {
    assert.deepEqual(await jsonOf('queues', 'list'), await jsonOf('instances', 'list'));
  });

  test('a queue instance has a budget, budget alerts, a plan and usage', async () => {
    const { id } = await jsonOf('instances', 'create', 'Paid', '--region', 'us-east-1');
    assert.equal(await textOf('instances', 'budget', id, '100'), 'budget: 100 dollars per month\n');
    assert.equal(
      await textOf('instances', 'budget-alert', id, 'https://app.example.com/spent'),
      'budget alerts: https://app.example.com/spent\n',
    );
    assert.deepEqual(await jsonOf('instances', 'plan', id, 'default'), { changed: 1 });
    const queue = await jsonOf('instances', 'get', id);
    assert.deepEqual([queue.budget, queue.budget_alert_url, queue.plan], [100, 'https://app.example.com/spent', 'default']);
    assert.match(
      await textOf('instances', 'stats', id, '--period', '1h'),
      /^MONTH \(UTC\) +MESSAGES +DOLLARS\n\d{4}-\d\d +0 +0\n[\s\S]*0 dollars spent this month; budget: 100 dollars per month\n0 runs started today \(UTC\)\.\n0 bytes stored, 0 by its account; limit: none\n0 active runs of its account; limit: none\n$/,
    );
    assert.match(
      await textOf('instances', 'usage', id, '--days', '2'),
      /^DAY \(UTC\) +MESSAGES +DOLLARS\n(\d{4}-\d\d-\d\d +0 +0\n){2}\n0 dollars spent this month; budget: 100 dollars per month\n$/,
    );
    assert.equal(await textOf('instances', 'budget', id, '0'), 'budget: no limit\n');
    assert.equal(await textOf('instances', 'budget-alert', id, 'none'), 'budget alerts: none\n');
    assert.equal((await jsonOf('instances', 'get', id)).budget_alert_url, undefined);
  });

  test('outbound rules combine what the operator allows with what the owner denies', async () => {
    const { id } = await jsonOf('instances', 'create', 'Bounded', '--region', 'us-east-1');
    assert.equal(await textOf('instances', 'outbound', id), 'allowed  -\ndenied   -\nonly     no limit\n');
    await textOf('instances', 'allow-outbound', id, '10.0.0.5:8080', 'app.internal');
    await textOf('instances', 'narrow-outbound', id, '--deny', '10.0.0.0/8', '--deny', 'x.example', '--only', '*.example:443');
    assert.equal(
      await textOf('instances', 'outbound', id),
      'allowed  10.0.0.5:8080, app.internal\ndenied   10.0.0.0/8, x.example\nonly     *.example:443\n',
    );
    assert.deepEqual(await jsonOf('instances', 'narrow-outbound', id), { changed: 1 });
    assert.deepEqual(await jsonOf('instances', 'outbound', id), {
      id,
      allow: ['10.0.0.5:8080', 'app.internal'],
      deny: [],
      only: null,
    });
  });

  test('browser sessions are listed and ended', async () => {
    const { EVERSTEP_MANAGEMENT_URL: url, EVERSTEP_ADMIN_EMAIL: email, EVERSTEP_ADMIN_API_KEY: api_key } = harness.serverEnv;
    const [headers, body] = [{ 'content-type': 'application/json' }, JSON.stringify({ email, api_key })];
    const logIn = () => fetch(`${url}/v2/session`, { method: 'POST', headers, body });
    assert.equal(await textOf('sessions', 'list'), 'No sessions.\n');
    for (const received of [await logIn(), await logIn(), await logIn()]) assert.equal(received.status, 200);
    const [first] = await jsonOf('sessions', 'list');
    assert.match(await textOf('sessions', 'list'), new RegExp(`^SESSION +KEY +SIGNED IN .*\\n${first.id} +key_\\S+ +\\d{4}-`));
    assert.equal(await textOf('sessions', 'end', first.id), '1 ended\n');
    assert.equal((await run('sessions', 'end', first.id)).code, 3);
    assert.equal(await textOf('sessions', 'end-all'), '2 ended\n');
  });

  test('plans are listed with their limits', async () => {
    assert.match(await textOf('plans'), /^PLAN +MESSAGE BYTES .*DOLLARS\/100K\ndefault +- .* 1\nstandard .* 1\n$/);
    assert.equal((await jsonOf('plans'))[0].name, 'default');
  });

  test('audit lists changes across all pages, newest first', async () => {
    for (let i = 0; i < 3; i++) await jsonOf('instances', 'create', `Audited ${i}`, '--region', 'us-east-1');
    const [newest, ...older] = await jsonOf('audit', '--limit', '3');
    assert.equal(newest.details.name, 'Audited 2');
    assert.equal(older.length, 2);
    assert.match(
      await textOf('audit'),
      /^TIME \(UTC\) +ACTOR +ADDRESS +ACTION +SUBJECT +DETAILS\n\d{4}-.* queue\.create +qi_\S+ +name=Audited 2 /,
    );
  });

  test('an operator reads, exports and verifies the audit log of all accounts', async () => {
    const audit = (...args: readonly string[]) => harness.runIn(login, ['audit', ...args]);
    const [newest] = await jsonOf('audit', '--all', '--limit', '1');
    const exported = await audit('export', '--from', '2020-01-01T00:00:00Z');
    const lines = exported.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual([exported.code, lines.at(-1).id], [0, newest.id]);
    const rest = await audit('export', '--after', String(lines[0].seq));
    assert.equal(rest.stdout.trim().split('\n').length, lines.length - 1);
    const verified = await audit('verify');
    const [, head = ''] = /^\d+ entries checked, 0 faults\nhead (\d+:[0-9a-f]{64})\n$/.exec(verified.stdout) ?? [];
    assert.equal(verified.code, 0);
    assert.equal((await audit('verify', '--known', head)).code, 0);
    const other = await audit('verify', '--known', `${lines[0].seq}:${'0'.repeat(64)}`);
    assert.equal(other.code, 1);
    assert.match(other.stdout, /^the chain does not contain /);
    assert.equal((await audit('verify', '--known', 'nothing')).code, 2);
  });

  test('the login is read from the data directory of the server', async () => {
    const ended = await harness.runIn({ EVERSTEP_DATA_DIR: join(harness.directory.path, '.everstep') }, ['admin', 'account']);
    assert.deepEqual([ended.code, ended.stderr], [0, '']);
  });

  test('a stored key is not sent to another URL or with another email', async () => {
    const env = { EVERSTEP_DATA_DIR: join(harness.directory.path, '.everstep') };
    for (const other of [
      ['--management-url', 'http://127.0.0.1:9'],
      ['--email', 'ada@example.com'],
    ]) {
      const ended = await harness.runIn(env, ['admin', 'account', ...other]);
      assert.deepEqual([ended.code, ended.stdout], [2, '']);
      assert.match(ended.stderr, /^No API key/);
    }
  });

  const REFUSED: readonly (readonly [string, readonly string[], number, RegExp])[] = [
    ['a missing queue instance', ['instances', 'get', 'qi_none'], 3, /there is no queue instance/],
    ['a missing team', ['members', 'list', 'team_none'], 3, /there is no team/],
    ['a budget with cents', ['instances', 'budget', 'qi_none', '20.5'], 2, /whole number/],
    ['a budget that is not a number', ['instances', 'budget', 'qi_none', 'much'], 2, /whole number/],
    ['an invalid budget alert URL', ['instances', 'budget-alert', 'qi_none', 'me'], 2, /absolute URL or "none"/],
    ['an invalid destination', ['instances', 'narrow-outbound', 'qi_none', '--deny', 'x:0'], 3, /there is no queue instance/],
    ['an unknown role', ['members', 'add', 't', 'a@b.c', '--role', 'king'], 2, /admin, dev, finance/],
    ['a member without a role', ['members', 'add', 't', 'a@b.c'], 2, /--role/],
    ['an instance without a region', ['instances', 'create', 'q'], 2, /--region/],
    ['an invalid period', ['instances', 'stats', 'q', '--period', 'long'], 2, /duration such as/],
    ['an invalid URL', ['account', '--management-url', 'localhost'], 2, /--management-url must be/],
    ['an unreachable server', ['account', '--management-url', 'http://127.0.0.1:9'], 4, /no (answer|response) from/],
  ];
  for (const [name, args, expected, words] of REFUSED) {
    test(`${name}: exit code ${expected}, and the reason on stderr`, async () => {
      const { code, stdout, stderr } = await run(...args);
      assert.match(stderr, words);
      assert.deepEqual([code, stdout], [expected, '']);
    });
  }
});
