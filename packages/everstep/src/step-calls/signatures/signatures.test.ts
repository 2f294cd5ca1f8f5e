/** Tests the keys and claims of request signatures. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { type SignatureCheck, verifySignature } from '@everstep/sdk';
import { Receiver } from '@upstash/qstash';
import { decodeJwt } from 'jose/jwt/decode';
import { jwtVerify } from 'jose/jwt/verify';
import { importJWK } from 'jose/key/import';
import type { Message } from '../../ports/message-sender.js';
import {
  callerWith,
  callWith,
  endpoint,
  KEYS,
  message,
  NOW,
  outboundOptions,
  REQUEST,
  type ReceivedRequest,
  respondWith,
  respondWithPlan,
  senderWith,
  stepCall,
  useSharedEndpoint,
} from '../endpoint.fixture.js';
import type { OutboundOptions } from '../http-step-caller.js';

useSharedEndpoint();

const unaborted = (): AbortSignal => new AbortController().signal;
const messageKeyOf = (key: string) => `sig_${createHmac('sha256', key).update('everstep.message-key.1').digest('base64url')}`;
const MESSAGE_KEYS = { current: messageKeyOf(KEYS.current), next: messageKeyOf(KEYS.next) };
/** Key pair from RFC 8037, appendix A. */
const PRIVATE_KEY = {
  kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
  privateKey: Buffer.from(
    '302e020100300506032b6570042204209d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    'hex',
  ).toString('base64url'),
};
const PUBLIC_KEY = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: PRIVATE_KEY.kid };

/** Sends a message and returns what the endpoint received. */
async function sent(changes: Partial<Message>, options: Partial<OutboundOptions> = {}): Promise<ReceivedRequest> {
  const sender = senderWith(options);
  endpoint.respond = respondWith(200, {});
  endpoint.received = [];
  await sender.send(message({ body: Buffer.from('hello'), signed: { kind: 'message', isOwn: false }, ...changes }), unaborted());
  await sender.close();
  const [received] = endpoint.received;
  assert.ok(received);
  return received;
}

const isAcceptedWith = (keys: { current: string; next: string }, { headers, body }: ReceivedRequest, prefix = 'svc-') => {
  const signature = String(headers[`${prefix}signature`]);
  if (prefix === 'svc-') {
    const input = { signature, body, currentSigningKey: keys.current, nextSigningKey: keys.next };
    return verifySignature(input).then(({ ok }) => ok);
  }
  const receiver = new Receiver({ currentSigningKey: keys.current, nextSigningKey: keys.next });
  return receiver.verify({ signature, body: body.toString(), url: `${endpoint.origin}/hook?x=1` }).catch(() => false);
};

test('the signatures of steps, messages, calls and callbacks contain their kind', async () => {
  await callWith(respondWithPlan);
  assert.equal(decodeJwt(String(endpoint.received[0]?.headers['svc-signature'])).kind, 'step');
  for (const kind of ['message', 'call', 'failure-callback', 'failure-function', 'budget-alert'] as const) {
    const { headers } = await sent({ signed: { kind, isOwn: true } });
    assert.equal(decodeJwt(String(headers['svc-signature'])).kind, kind);
  }
});

test('each attempt has a different id', async () => {
  const ids = new Set<unknown>();
  for (let n = 0; n < 3; n++) {
    await callWith(respondWithPlan);
    ids.add(decodeJwt(String(endpoint.received[0]?.headers['svc-signature'])).jti);
  }
  assert.equal(ids.size, 3);
});

test('a message to an origin that the instance does not own is signed with the message key', async () => {
  const asked: unknown[] = [];
  const messageKeyFor = (...of: readonly string[]) => {
    asked.push(of);
    return MESSAGE_KEYS.current;
  };
  for (const dialect of ['native', 'upstash'] as const) {
    const prefix = dialect === 'native' ? 'svc-' : 'upstash-';
    const own = await sent({ dialect });
    assert.equal(await isAcceptedWith(KEYS, own, prefix), true);
    const foreign = await sent({ dialect }, { messageKeyFor });
    assert.equal(await isAcceptedWith(MESSAGE_KEYS, foreign, prefix), true);
    if (dialect === 'upstash') assert.equal(await isAcceptedWith(KEYS, foreign, prefix), false);
    const ofWorkflow = await sent({ dialect, signed: { kind: 'failure-function', isOwn: true } }, { messageKeyFor });
    assert.equal(await isAcceptedWith(KEYS, ofWorkflow, prefix), true);
    assert.equal(await isAcceptedWith(MESSAGE_KEYS, ofWorkflow, prefix), false);
  }
  assert.deepEqual(asked, [
    ['qi_1', endpoint.origin],
    ['qi_1', endpoint.origin],
  ]);
});

test('an endpoint that refuses a message key is distinguished from one that fails', async () => {
  const ask = async (
    status: number,
    headers: Record<string, string> = {},
    messageKeyFor: () => string | null = () => MESSAGE_KEYS.current,
  ) => {
    const sender = senderWith({ messageKeyFor });
    endpoint.respond = respondWith(status, headers);
    const outcome = await sender.send(message({ signed: { kind: 'message', isOwn: false } }), unaborted());
    await sender.close();
    return outcome.kind === 'response' && outcome.expectsSigningKeys === true;
  };
  for (const status of [401, 403]) assert.equal(await ask(status), true);
  assert.equal(await ask(500, { 'upstash-workflow-sdk-version': '1' }), true);
  for (const status of [200, 400, 500, 503]) assert.equal(await ask(status), false);
  assert.equal(await ask(401, {}, () => null), false);
});

test('with a private key, steps and messages have a second signature of the same request', async () => {
  const options = { privateKey: () => PRIVATE_KEY, messageKeyFor: () => MESSAGE_KEYS.current };
  const caller = callerWith(options);
  endpoint.respond = respondWithPlan;
  endpoint.received = [];
  await caller.call(stepCall(), unaborted());
  await caller.close();
  const [step] = endpoint.received;
  assert.ok(step);
  const key = await importJWK(PUBLIC_KEY, 'EdDSA');
  const received = [step, await sent({}, options), await sent({ dialect: 'upstash' }, options)];
  for (const [at, { headers, body }] of received.entries()) {
    const prefix = at === 2 ? 'upstash-' : 'svc-';
    const signature = String(headers[`${prefix}signature-ed25519`]);
    const { payload, protectedHeader } = await jwtVerify(signature, key, { currentDate: new Date(NOW) });
    assert.deepEqual(protectedHeader, { alg: 'EdDSA', typ: 'JWT', kid: PRIVATE_KEY.kid });
    assert.deepEqual(payload, decodeJwt(String(headers[`${prefix}signature`])));
    if (at === 2) continue;
    const check: SignatureCheck = await verifySignature({ signature, body, publicKeys: [PUBLIC_KEY] });
    assert.ok(check.ok);
    assert.equal(check.claims.kind, at === 0 ? 'step' : 'message');
  }
  assert.equal((await sent({})).headers['svc-signature-ed25519'], undefined);
});

test('the origin of a workflow is stored before a step is sent, and the step is sent even if storing fails', async () => {
  const events: unknown[] = [];
  let fails = false;
  const caller = callerWith({
    prepare: (instanceId) => Promise.resolve().then(() => void events.push(['prepared', instanceId])),
    recordWorkflowOrigin: async (...of) => {
      await new Promise((resolve) => setImmediate(resolve));
      if (fails) throw new Error('the disk is full');
      events.push(of);
    },
    log: { ...outboundOptions().log, warn: (fields) => void events.push(fields) },
  });
  endpoint.respond = (response) => {
    events.push('left');
    respondWithPlan(response);
  };
  await caller.call(stepCall(), unaborted());
  assert.deepEqual(events, [['prepared', 'qi_1'], ['qi_1', endpoint.origin], 'left']);
  fails = true;
  assert.equal((await caller.call(stepCall({ request: REQUEST }), unaborted())).kind, 'reply');
  assert.deepEqual(events.slice(-2), [{ instanceId: 'qi_1', origin: endpoint.origin, error: 'Error: the disk is full' }, 'left']);
  await caller.close();
});
