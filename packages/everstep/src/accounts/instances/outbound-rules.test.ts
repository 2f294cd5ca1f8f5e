import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { createSystemRandom } from '../../clock/system-random.js';
import { LIMITS } from '../../config/limits.js';
import type { Store } from '../../ports/stores/store.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import type { AccountService } from '../account-service.js';
import { createPeople, doneValue, type People, type Person } from '../people.fixture.js';
import { BUILT_IN_PLANS } from '../plans/plans.js';
import { createAccountService } from '../service.js';
import { type Authority, createAuthority } from '../tokens/authority.js';

let store: Store;
let authority: Authority;
let service: AccountService;
let people: People;
let instanceId: string;

const as = (person: Person) => people.principals[person];
const rules = async (person: Person) => doneValue(await service.outboundRules(as(person), instanceId));
const narrow = (person: Person, deny: readonly string[], only: readonly string[] | null = null) =>
  service.setOutboundRules(as(person), { instanceId, deny, only });
const allow = (person: Person, destinations: readonly string[]) =>
  service.setAllowedDestinations(as(person), { instanceId, allow: destinations });

beforeEach(async () => {
  store = await openSqliteStore({ file: ':memory:' });
  authority = await createAuthority({ store, now: Date.now });
  service = createAccountService({
    accounts: store.accounts,
    authority,
    now: Date.now,
    random: createSystemRandom(),
    plans: BUILT_IN_PLANS,
    onInstanceChanged: (id) => authority.forget(id),
  });
  people = await createPeople(store.accounts, service);
  const request = { name: 'main', region: 'eu-central-1', teamId: people.teamId };
  ({ instanceId } = doneValue(await service.createInstance(as('owner'), request)).instance);
});

test('the operator allows and the owner denies, and neither changes the lists of the other', async () => {
  assert.deepEqual(await rules('finance'), { allow: [], deny: [], only: null });
  assert.equal((await allow('operator', ['10.0.0.5:8080'])).kind, 'done');
  assert.equal((await narrow('dev', ['x.example'], ['*.example', '10.0.0.5:8080'])).kind, 'done');
  const both = { allow: ['10.0.0.5:8080'], deny: ['x.example'], only: ['*.example', '10.0.0.5:8080'] };
  assert.deepEqual(await rules('operator'), both);
  assert.deepEqual(authority.outboundRulesOf(instanceId), both, 'deliveries use these rules');
  assert.equal((await allow('operator', [])).kind, 'done');
  assert.deepEqual(await rules('owner'), { ...both, allow: [] });
  assert.equal((await narrow('owner', [])).kind, 'done');
  assert.equal(authority.outboundRulesOf(instanceId), null);
});

test('no one else can change them: members without the right, owners for allowed destinations, strangers', async () => {
  assert.equal((await narrow('finance', ['x.example'])).kind, 'forbidden');
  assert.equal((await narrow('operator', ['x.example'])).kind, 'not-found');
  assert.equal((await narrow('stranger', ['x.example'])).kind, 'not-found');
  for (const person of ['owner', 'admin', 'dev', 'finance'] as const)
    assert.equal((await allow(person, ['10.0.0.5'])).kind, 'forbidden', person);
  assert.equal((await allow('stranger', ['10.0.0.5'])).kind, 'not-found');
  assert.equal((await service.outboundRules(as('stranger'), instanceId)).kind, 'not-found');
  const nowhere = { instanceId: 'qi_none', allow: [] };
  assert.equal((await service.setAllowedDestinations(as('operator'), nowhere)).kind, 'not-found');
});

test('an invalid, too long or surplus entry is refused, and the error names it', async () => {
  const faults = [
    [await narrow('dev', ['ok.example', 'http://x/']), /body\.deny\[1\] "http:\/\/x\/" is invalid; use host names/],
    [await narrow('dev', [], ['10.0.0.0/33']), /body\.only\[0\]/],
    [await allow('operator', [`${'a.'.repeat(130)}b`]), /body\.allow\[0\]/],
    [await narrow('dev', Array(LIMITS.maxOutboundRules + 1).fill('x.example')), /at most 100 entries, but has 101/],
  ] as const;
  for (const [outcome, words] of faults) {
    assert.equal(outcome.kind, 'invalid');
    assert.match('message' in outcome ? outcome.message : '', words);
  }
  assert.equal(authority.outboundRulesOf(instanceId), null);
});

test('the audit log lists what was set, or only the length of a long list', async () => {
  doneValue(await allow('operator', ['10.0.0.5:8080']));
  doneValue(await narrow('dev', Array(100).fill('a.long.name.example'), null));
  const [narrowed, allowed] = await service.auditLog(as('admin'), { after: null, limit: 2 });
  assert.deepEqual(
    [narrowed?.action, narrowed?.details, allowed?.action, allowed?.details],
    [
      ...['queue.set-outbound-rules', { deny: '100 destinations', only: null }],
      ...['queue.set-allowed-destinations', { allow: '10.0.0.5:8080' }],
    ],
  );
});
