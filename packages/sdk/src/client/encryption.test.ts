import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decryptAll, sealText, sealValue } from '../encryption/envelope.js';
import { payloadEncryption } from '../encryption/payload-encryption.js';
import { Client } from './client.js';
import type { TriggerOptions } from './settings.js';

const encryption = payloadEncryption({ keys: [Buffer.alloc(32, 1).toString('base64')] });
const other = payloadEncryption({ keys: [Buffer.alloc(32, 2).toString('base64')] });

interface Sent {
  readonly body: string;
  readonly contentType: string | null;
}

/** Returns a client whose server returns this response, and the requests that it has sent. */
function clientOf(response: unknown = {}, reader = encryption): { readonly client: Client; readonly sent: readonly Sent[] } {
  const sent: Sent[] = [];
  const client = new Client({
    ...{ baseUrl: 'http://service', token: 't', encryption: reader },
    fetch: async (input, init) => {
      const request = new Request(input, init);
      sent.push({ body: await request.text(), contentType: request.headers.get('content-type') });
      return Response.json(response);
    },
  });
  return { client, sent };
}

describe('a client with encryption', () => {
  const bodies: readonly (readonly [
    string,
    (client: Client) => Promise<unknown>,
    expected: string,
    contentType: string | null,
  ])[] = [
    ['a trigger', (client) => client.trigger('http://app', { body: { n: 'marker' } }), '{"n":"marker"}', 'application/json'],
    ['a trigger with text', (client) => client.trigger('http://app', { body: 'marker' }), 'marker', null],
    ['a trigger with bytes', (client) => client.trigger('http://app', { body: Uint8Array.of(0, 255) }), 'AP8=', null],
    [
      'a schedule',
      (client) => client.schedules.create('http://app', { cron: '* * * * *', body: ['marker'] }),
      '["marker"]',
      'application/json',
    ],
    ['an event', (client) => client.notify({ eventId: 'e', eventData: { n: 'marker' } }), '{"n":"marker"}', 'application/json'],
    [
      'an event with text',
      (client) => client.notify({ eventId: 'e', eventData: 'marker' }),
      'marker',
      'text/plain; charset=utf-8',
    ],
  ];
  for (const [name, send, expected, contentType] of bodies) {
    it(`encrypts the body of ${name}, and keeps its content type`, async () => {
      const { client, sent } = clientOf();
      await send(client);
      const [request] = sent;
      assert.ok(request);
      assert.match(request.body, /^\{"\$encrypted":"v1\.[\w.-]+"\}$/);
      assert.equal(decryptAll(encryption, request.body, assert.fail), expected);
      assert.equal(request.contentType, contentType);
    });
  }

  it('encrypts the payloads in a batch, in a change of a schedule and in a fork', async () => {
    const { client, sent } = clientOf();
    await client.triggerMany([
      { workflowUrl: 'http://app', body: { n: 'marker' } },
      { workflowUrl: 'http://app', body: Uint8Array.of(0, 255) },
    ]);
    await client.schedules.change('s', { body: 'marker', retries: 1 });
    const results = [{ stepId: 1, result: { n: 'marker' } }, { stepId: 2 }];
    await client.runs.fork('r', { fromStep: 3, input: { body: 'marker' }, results });
    for (const { body } of sent) assert.doesNotMatch(body, /marker/);
    const [batch, change, fork] = sent.map(({ body }) => decryptAll(encryption, JSON.parse(body), assert.fail));
    assert.deepEqual(
      (batch as readonly { readonly body: string }[]).map(({ body }) => body),
      ['{"n":"marker"}', 'AP8='],
    );
    assert.deepEqual(change, { body: 'marker', retries: 1 });
    assert.deepEqual(fork, { fromStep: 3, input: { body: 'marker' }, results });
  });

  it('sends an empty body as it is', async () => {
    const { client, sent } = clientOf();
    await client.trigger('http://app');
    await client.notify({ eventId: 'e' });
    assert.deepEqual(
      sent.map(({ body }) => body),
      ['', ''],
    );
  });

  it('rejects deduplication by content, which cannot detect duplicates of encrypted payloads', async () => {
    const { client, sent } = clientOf();
    const options: TriggerOptions = { body: { n: 1 }, contentBasedDeduplication: true };
    await assert.rejects(
      client.trigger('http://app', options),
      /TypeError: contentBasedDeduplication .* set deduplicationId instead/,
    );
    assert.deepEqual(sent, []);
    await client.trigger('http://app', { contentBasedDeduplication: true });
    assert.equal(sent.length, 1);
  });

  it('decrypts results and steps', async () => {
    const end = { workflowState: 'RUN_SUCCESS', result: sealValue(encryption, { n: 1 }) };
    assert.deepEqual(await clientOf(end).client.runs.result('r'), { workflowState: 'RUN_SUCCESS', result: { n: 1 } });
    assert.deepEqual(await clientOf(end).client.trigger('http://app', { waitForResult: true }), {
      workflowState: 'RUN_SUCCESS',
      result: { n: 1 },
    });
    const step = { stepId: 1, out: sealText(encryption, '"one"') };
    assert.deepEqual(await clientOf(step).client.runs.step('r', 1), { stepId: 1, out: '"one"' });
  });

  it('rejects if it has no key for the result of a run, and shows other values as they are', async () => {
    const end = { workflowState: 'RUN_SUCCESS', result: sealValue(encryption, 1) };
    await assert.rejects(clientOf(end, other).client.runs.result('r'), {
      name: 'DecryptionError',
      message: /the key \w+ is missing/,
    });
    const step = { stepId: 1, out: sealText(encryption, '"one"') };
    assert.deepEqual(await clientOf(step, other).client.runs.step('r', 1), step);
  });
});
