import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OutboundRules } from '../../ports/stores/account-store.js';
import { endpoint, failureOf, message, respondWith, senderWith, useSharedEndpoint } from '../endpoint.fixture.js';
import { createAddressPolicies } from './address-policies.js';

useSharedEndpoint();

const rules = new Map<string, OutboundRules>();
const policyOf = createAddressPolicies({
  allowLoopback: false,
  allow: ['10.1.0.0/16'],
  deny: ['10.2.0.1'],
  rulesOf: (instanceId) => rules.get(instanceId) ?? null,
});
const verdict = (instanceId: string, url: string) => policyOf(instanceId).check(url);

test('an instance may call what the operator allows it, and other instances may not', () => {
  rules.set('qi_1', { allow: ['10.2.0.0/16:8080', 'app.internal'], deny: [], only: null });
  for (const url of ['http://10.2.0.9:8080/', 'http://app.internal/', 'http://10.1.0.1/', 'https://example.org/'])
    assert.deepEqual(verdict('qi_1', url), { ok: true }, url);
  for (const url of ['http://10.2.0.9/', 'http://10.2.0.1:8080/']) assert.equal(verdict('qi_1', url).ok, false, url);
  assert.equal(verdict('qi_2', 'http://10.2.0.9:8080/').ok, false);
  // The name may resolve to an allowed address, so the address is checked after resolution.
  assert.equal(policyOf('qi_2').checkAddress('10.9.0.1', 'app.internal', 80).ok, false);
  assert.deepEqual(policyOf('qi_1').checkAddress('10.9.0.1', 'app.internal', 80), { ok: true });
  assert.equal(policyOf('qi_2'), policyOf('qi_3'));
});

test('an instance can restrict its destinations, but cannot allow more', async () => {
  rules.set('qi_1', { allow: [], deny: ['*.example.org', '8.8.8.8', '10.1.0.0/24'], only: null });
  for (const url of ['http://a.example.org/', 'http://8.8.8.8/', 'http://10.1.0.9/']) {
    const refused = verdict('qi_1', url);
    assert.match(refused.ok ? '' : refused.message, /denied by the outbound policy of this queue instance$/, url);
  }
  assert.deepEqual(verdict('qi_1', 'http://10.1.1.9/'), { ok: true });
  rules.set('qi_1', { allow: [], deny: [], only: ['example.org:443', '10.0.0.0/8', '127.0.0.1'] });
  for (const url of ['https://example.org/', 'http://10.1.0.9/']) assert.deepEqual(verdict('qi_1', url), { ok: true }, url);
  for (const url of ['http://8.8.8.8/', 'http://10.9.0.9/', 'http://127.0.0.1/'])
    assert.equal(verdict('qi_1', url).ok, false, url);
  // The name may resolve to an address in the list.
  assert.deepEqual(verdict('qi_1', 'https://other.example/'), { ok: true });
  assert.equal(policyOf('qi_1').checkAddress('8.8.8.8', 'other.example', 443).ok, false);
  rules.set('qi_1', { allow: [], deny: [], only: ['example.org:443'] });
  for (const url of ['http://example.org/', 'https://other.example/']) assert.equal(verdict('qi_1', url).ok, false, url);
  rules.set('qi_1', { allow: [], deny: [], only: [] });
  assert.equal(verdict('qi_1', 'https://example.org/').ok, false);
});

test('the rules of an instance do not reveal whether a name has a private address', () => {
  rules.set('qi_1', { allow: [], deny: ['10.0.0.0/8'], only: null });
  const refused = policyOf('qi_1').checkAddress('10.9.9.9', 'wiki.example', 80);
  assert.equal(refused.ok ? '' : refused.message, 'Everstep does not call the address wiki.example');
});

test('a connection of one instance is not used for another, or after its rules change', async (t) => {
  const sender = senderWith({ addressPolicyOf: policyOf });
  t.after(() => sender.close());
  endpoint.respond = respondWith(200, {});
  rules.set('qi_1', { allow: ['127.0.0.1'], deny: [], only: null });
  const send = (instanceId: string) => sender.send(message({ instanceId }), new AbortController().signal);
  assert.equal((await send('qi_1')).kind, 'response', 'a connection exists from now on');
  assert.equal(failureOf(await send('qi_2')).cause, 'blocked-address');
  rules.set('qi_1', { allow: ['127.0.0.1'], deny: ['127.0.0.1'], only: null });
  assert.equal(failureOf(await send('qi_1')).cause, 'blocked-address');
});
