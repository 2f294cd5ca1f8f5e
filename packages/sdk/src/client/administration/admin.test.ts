import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EverstepError } from '../../errors.js';
import { AdminClient } from './admin.js';

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly type: string | null;
  readonly body: string;
}

const CREDENTIALS = { baseUrl: 'http://service/', email: 'jürgen@example.com', apiKey: 'ek_1' } as const;

/** An API that returns these responses one after the other, and the requests that it received. */
function apiOf(...answers: readonly unknown[]) {
  const sent: Sent[] = [];
  const authorizations: (string | null)[] = [];
  const api: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const { pathname, search } = new URL(request.url);
    authorizations.push(request.headers.get('authorization'));
    const type = request.headers.get('content-type');
    const response = answers[sent.length];
    sent.push({ method: request.method, path: `${pathname}${search}`, type, body: await request.text() });
    return response instanceof Response ? response : new Response(JSON.stringify(response));
  };
  return { client: new AdminClient({ ...CREDENTIALS, fetch: api }), sent, authorizations };
}

const QUEUE = '/v2/queue';

/** A body of undefined means that no body is sent. OK is the response of operations without a result. */
const calls: readonly (readonly [string, (client: AdminClient) => Promise<unknown>, string, unknown?, 'OK'?])[] = [
  ['account', (client) => client.account(), 'GET /v2/account'],
  ['apiKeys.list', (client) => client.apiKeys.list(), 'GET /v2/apikeys'],
  ['apiKeys.create', (client) => client.apiKeys.create('ci'), 'POST /v2/apikeys', { name: 'ci' }],
  ['apiKeys.revoke', (client) => client.apiKeys.revoke('a/b'), 'DELETE /v2/apikeys/a%2Fb', undefined, 'OK'],
  ['teams.list', (client) => client.teams.list(), 'GET /v2/teams'],
  ['teams.create', (client) => client.teams.create('ops'), 'POST /v2/team', { team_name: 'ops' }],
  ['teams.delete', (client) => client.teams.delete('a/b'), 'DELETE /v2/team/a%2Fb', undefined, 'OK'],
  ['teams.members.list', (client) => client.teams.members.list('a/b'), 'GET /v2/teams/a%2Fb'],
  [
    'teams.members.put',
    (client) => client.teams.members.put('t', 'me@example.com', 'dev'),
    'POST /v2/teams/member',
    { team_id: 't', member_email: 'me@example.com', member_role: 'dev' },
  ],
  [
    'teams.members.remove',
    (client) => client.teams.members.remove('t', 'me@example.com'),
    'DELETE /v2/teams/member',
    { team_id: 't', member_email: 'me@example.com' },
    'OK',
  ],
  ['users.page', (client) => client.users.page(), 'GET /v2/users'],
  ['users.disable', (client) => client.users.disable('a/b'), 'POST /v2/users/a%2Fb/disable', undefined, 'OK'],
  ['users.enable', (client) => client.users.enable('a/b'), 'POST /v2/users/a%2Fb/enable', undefined, 'OK'],
  [
    'users.delete',
    (client) => client.users.delete('a/b', { handOverTo: 'c' }),
    'DELETE /v2/users/a%2Fb?hand_over_to=c',
    undefined,
    'OK',
  ],
  ['users.grantOperator', (client) => client.users.grantOperator('u'), 'POST /v2/users/u/operator', undefined, 'OK'],
  ['users.revokeOperator', (client) => client.users.revokeOperator('u'), 'DELETE /v2/users/u/operator', undefined, 'OK'],
  ['users.apiKeys', (client) => client.users.apiKeys('u'), 'GET /v2/users/u/apikeys'],
  ['users.revokeApiKeys', (client) => client.users.revokeApiKeys('u', 'k'), 'DELETE /v2/users/u/apikeys/k', undefined, 'OK'],
  ['users.identities', (client) => client.users.identities('a/b'), 'GET /v2/users/a%2Fb/identities'],
  [
    'users.unlinkIdentity',
    (client) => client.users.unlinkIdentity('u', 'a/b'),
    'DELETE /v2/users/u/identities/a%2Fb',
    undefined,
    'OK',
  ],
  ['users.endSessions', (client) => client.users.endSessions('u'), 'DELETE /v2/users/u/sessions', undefined, 'OK'],
  ['teams.invitations.list', (client) => client.teams.invitations.list('a/b'), 'GET /v2/teams/a%2Fb/invitations'],
  [
    'teams.invitations.revoke',
    (client) => client.teams.invitations.revoke('a/b'),
    'DELETE /v2/invitations/a%2Fb',
    undefined,
    'OK',
  ],
  ['teams.invitations.join', (client) => client.teams.invitations.join('s'), 'POST /v2/invitations/join', { secret: 's' }],
  ['users.createRecoveryLink', (client) => client.users.createRecoveryLink('a/b'), 'POST /v2/users/a%2Fb/recovery'],
  ['instances.list', (client) => client.instances.list(), `GET ${QUEUE}/users`],
  [
    'instances.create',
    (client) => client.instances.create({ name: 'q', region: 'eu-central-1' }),
    `POST ${QUEUE}/users`,
    { name: 'q', region: 'eu-central-1' },
  ],
  [
    'instances.create for a team',
    (client) => client.instances.create({ name: 'q', region: 'eu-central-1', teamId: 't' }),
    `POST ${QUEUE}/users`,
    { name: 'q', region: 'eu-central-1', team_id: 't' },
  ],
  ['instances.get', (client) => client.instances.get('a/b'), `GET ${QUEUE}/user/a%2Fb`],
  [
    'instances.delete',
    (client) => client.instances.delete('a/b', { confirm: 'é b' }),
    `DELETE ${QUEUE}/user/a%2Fb?confirm=%C3%A9%20b`,
    undefined,
    'OK',
  ],
  ['instances.rotateTokens', (client) => client.instances.rotateTokens('a/b'), `POST ${QUEUE}/rotate-token/a%2Fb`],
  ['tokens.list', (client) => client.tokens.list('a/b'), `GET ${QUEUE}/tokens/a%2Fb`],
  [
    'tokens.create',
    (client) => client.tokens.create('q', { name: 'n', scopes: ['read'], expiresIn: '1h' }),
    `POST ${QUEUE}/tokens/q`,
    { name: 'n', scopes: ['read'], expires_in_seconds: 3_600 },
  ],
  [
    'tokens.create without an expiry',
    (client) => client.tokens.create('q', { name: 'n', scopes: ['trigger'] }),
    `POST ${QUEUE}/tokens/q`,
    { name: 'n', scopes: ['trigger'] },
  ],
  [
    'tokens.rotate',
    (client) => client.tokens.rotate('q', 't/1'),
    `POST ${QUEUE}/tokens/q/t%2F1/rotate`,
    { overlap_seconds: 86_400 },
  ],
  ['tokens.revoke', (client) => client.tokens.revoke('q', 't/1'), `DELETE ${QUEUE}/tokens/q/t%2F1`, undefined, 'OK'],
  [
    'instances.moveToTeam',
    (client) => client.instances.moveToTeam('q', 't'),
    `POST ${QUEUE}/move-to-team`,
    { queue_id: 'q', target_team_id: 't' },
    'OK',
  ],
  [
    'instances.updateBudget',
    (client) => client.instances.updateBudget('a/b', 0),
    `PATCH ${QUEUE}/update-budget/a%2Fb`,
    { budget: 0 },
    'OK',
  ],
  [
    'instances.setBudgetAlert',
    (client) => client.instances.setBudgetAlert('a/b', 'http://app/'),
    `POST ${QUEUE}/set-budget-alert/a%2Fb`,
    { url: 'http://app/' },
    'OK',
  ],
  [
    'instances.setBudgetAlert with null',
    (client) => client.instances.setBudgetAlert('q', null),
    `POST ${QUEUE}/set-budget-alert/q`,
    { url: null },
    'OK',
  ],
  [
    'instances.setPlan',
    (client) => client.instances.setPlan('a/b', 'big'),
    `POST ${QUEUE}/set-plan/a%2Fb`,
    { plan_name: 'big' },
    'OK',
  ],
  ['instances.outboundRules', (client) => client.instances.outboundRules('a/b'), `GET ${QUEUE}/outbound-rules/a%2Fb`],
  [
    'instances.setOutboundRules',
    (client) => client.instances.setOutboundRules('a/b', { deny: ['x.example'], only: null }),
    `POST ${QUEUE}/set-outbound-rules/a%2Fb`,
    { deny: ['x.example'], only: null },
    'OK',
  ],
  [
    'instances.setAllowedDestinations',
    (client) => client.instances.setAllowedDestinations('a/b', ['10.0.0.5:80']),
    `POST ${QUEUE}/set-allowed-destinations/a%2Fb`,
    { allow: ['10.0.0.5:80'] },
    'OK',
  ],
  ['instances.stats', (client) => client.instances.stats('a/b'), `GET ${QUEUE}/stats/a%2Fb`],
  [
    'instances.stats with a period',
    (client) => client.instances.stats('q', { period: '2h' }),
    `GET ${QUEUE}/stats/q?period=7200s`,
  ],
  ['sessions.list', (client) => client.sessions.list(), 'GET /v2/sessions'],
  ['sessions.end', (client) => client.sessions.end('a/b'), 'DELETE /v2/sessions/a%2Fb', undefined, 'OK'],
  ['instances.plans', (client) => client.instances.plans(), `GET ${QUEUE}/plans`],
  ['searchIndexes.list', (client) => client.searchIndexes.list(), 'GET /v2/search'],
  [
    'searchIndexes.create',
    (client) => client.searchIndexes.create({ name: 's', region: 'eu-central-1', type: 'free', teamId: 't' }),
    'POST /v2/search',
    { name: 's', region: 'eu-central-1', type: 'free', team_id: 't' },
  ],
  ['searchIndexes.get', (client) => client.searchIndexes.get('a/b'), 'GET /v2/search/a%2Fb'],
  [
    'searchIndexes.rename',
    (client) => client.searchIndexes.rename('a/b', 'n'),
    'POST /v2/search/a%2Fb/rename',
    { name: 'n' },
    'OK',
  ],
  [
    'searchIndexes.moveToTeam',
    (client) => client.searchIndexes.moveToTeam('a/b', 't'),
    'POST /v2/search/a%2Fb/transfer',
    { target_account: 't' },
    'OK',
  ],
  ['searchIndexes.rotateTokens', (client) => client.searchIndexes.rotateTokens('a/b'), 'POST /v2/search/a%2Fb/reset-password'],
  ['searchIndexes.delete', (client) => client.searchIndexes.delete('a/b'), 'DELETE /v2/search/a%2Fb', undefined, 'OK'],
  ['searchIndexes.stats', (client) => client.searchIndexes.stats('a/b'), 'GET /v2/search/a%2Fb/stats'],
  ['searchIndexes.totals', (client) => client.searchIndexes.totals(), 'GET /v2/search/stats'],
  ['auditLog', (client) => client.auditLog(), 'GET /v2/auditlogs'],
  ['auditLog with options', (client) => client.auditLog({ cursor: 'c&d', count: 5 }), 'GET /v2/auditlogs?cursor=c%26d&count=5'],
  ['auditLog with words', (client) => client.auditLog({ q: 'queue delete' }), 'GET /v2/auditlogs?q=queue%20delete'],
];

describe('the client of the management API', () => {
  for (const [name, act, request, body, ok] of calls) {
    it(`${name} sends the request and returns the response`, async () => {
      const received = ok ?? { id: 'x' };
      const { client, sent } = apiOf(received);
      assert.deepEqual(await act(client), ok ? undefined : received);
      const [method, path] = request.split(' ');
      const carried = body === undefined ? '' : JSON.stringify(body);
      assert.deepEqual(sent, [{ method, path, type: body === undefined ? null : 'application/json', body: carried }]);
    });
  }

  it('logs in with the email address and the API key, as UTF-8', async () => {
    const { client, authorizations } = apiOf({});
    await client.account();
    assert.deepEqual(authorizations, [`Basic ${Buffer.from('jürgen@example.com:ek_1').toString('base64')}`]);
  });

  it('follows the pages of the audit log to the end', async () => {
    const { client, sent } = apiOf({ cursor: 'next', auditlogs: [{ id: '2' }] }, { cursor: '', auditlogs: [{ id: '1' }] });
    const ids: string[] = [];
    for await (const { id } of client.auditEntries()) ids.push(id);
    assert.deepEqual(ids, ['2', '1']);
    assert.deepEqual(
      sent.map(({ path }) => path),
      ['/v2/auditlogs', '/v2/auditlogs?cursor=next'],
    );
  });

  it('rejects with the message and the code of the server', async () => {
    const refusal = new Response('{"error":"the role finance may not change this"}', {
      status: 403,
      headers: { 'Svc-Error-Code': 'forbidden' },
    });
    const { client } = apiOf(refusal);
    await assert.rejects(client.instances.rotateTokens('q'), (error: EverstepError) => {
      assert.deepEqual([error.status, error.code, error.message], [403, 'forbidden', 'the role finance may not change this']);
      return error instanceof EverstepError;
    });
  });

  it('reads missing options from the environment, and reports missing ones', async (t) => {
    const VARIABLES = ['EVERSTEP_MANAGEMENT_URL', 'EVERSTEP_ADMIN_EMAIL', 'EVERSTEP_ADMIN_API_KEY'] as const;
    const before = VARIABLES.map((name) => [name, process.env[name]] as const);
    t.after(() => {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    });
    const values = ['http://service', 'me@example.com', 'ek_2'];
    for (const name of VARIABLES) delete process.env[name];
    for (const [index, name] of VARIABLES.entries()) {
      assert.throws(() => new AdminClient(), { name: 'EverstepError', code: 'no-configuration', message: new RegExp(name) });
      process.env[name] = values[index];
    }
    let authorization: string | null = null;
    const client = new AdminClient({
      fetch: async (input, init) => {
        authorization = new Request(input, init).headers.get('authorization');
        return new Response('{}');
      },
    });
    await client.account();
    assert.equal(authorization, `Basic ${btoa('me@example.com:ek_2')}`);
  });
});
