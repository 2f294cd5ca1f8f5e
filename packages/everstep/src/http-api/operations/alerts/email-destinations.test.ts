import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiHarness } from '../../testing/api-harness.js';

const URL_OF = '/v2/alerts/destinations';
const headers = { 'content-type': 'application/json' };

interface ApiResponse {
  readonly to?: readonly string[];
  readonly url?: string;
  readonly error?: string;
}

const put = (harness: ApiHarness, body: object) =>
  harness.call<ApiResponse>('PUT', `${URL_OF}/ops`, { headers, body: JSON.stringify(body) });

test('an email destination accepts a few plain addresses that the operator allows', async () => {
  const harness = await ApiHarness.open({ mailRecipients: { allows: (address) => address.endsWith('@shop.test') } });
  try {
    const { status, body } = await put(harness, { kind: 'email', to: ['ops@shop.test', 'a.b+c@shop.test', 'ops@shop.test'] });
    assert.equal(status, 200);
    assert.deepEqual([body.to, body.url], [['ops@shop.test', 'a.b+c@shop.test'], 'mailto:ops@shop.test,a.b+c@shop.test']);
    const listed = await harness.call<{ readonly mailAvailable: boolean }>('GET', URL_OF);
    assert.equal(listed.body.mailAvailable, true);
    for (const [to, error] of [
      [['ann@other.test'], /"to": "ann@other\.test" is not allowed to receive email/],
      [['ops@shop.test\r\nBcc: all@shop.test'], /must be an email address such as ops@example\.com/],
      [['"a b"@shop.test'], /must be an email address/],
      [['a@shop.test,b@shop.test'], /must be an email address/],
      [['user%other.test@shop.test'], /must be an email address/],
      [[`${'a'.repeat(250)}@shop.test`], /254/],
      [[], /to must have at least 1 item/],
      [Array.from({ length: 6 }, (_, index) => `a${index}@shop.test`), /to must not have more than 5 items/],
    ] as const) {
      const refused = await put(harness, { kind: 'email', to });
      assert.deepEqual([refused.status, error.test(refused.body.error ?? '')], [400, true], refused.body.error);
    }
    for (const [body, error] of [
      [{ kind: 'email' }, /"to" is missing; the kind email requires it/],
      [{ kind: 'slack' }, /"url" is missing; the kind slack requires it/],
      [{ kind: 'email', to: ['ops@shop.test'], url: 'http://w.test/ok' }, /"url" is not used by the kind email/],
      [{ kind: 'webhook', to: ['ops@shop.test'], url: 'http://w.test/ok' }, /"to" is not used by the kind webhook/],
    ] as const)
      assert.match((await put(harness, body)).body.error ?? '', error);
  } finally {
    await harness.close();
  }
});

test('rejects email destinations with their own error code if there is no SMTP server', async () => {
  const harness = await ApiHarness.open();
  try {
    const refused = await put(harness, { kind: 'email', to: ['ops@shop.test'] });
    assert.deepEqual([refused.status, refused.headers['svc-error-code']], [409, 'no-mail-server']);
    const listed = await harness.call<{ readonly mailAvailable: boolean }>('GET', URL_OF);
    assert.equal(listed.body.mailAvailable, false);
    // The destination was saved while there was an SMTP server.
    await harness.runtime.alerts.putDestination({
      ...{ instanceId: 'qi_1', name: 'ops', kind: 'email', to: ['ops@shop.test'], rotateSecret: false },
    });
    const tested = await harness.call('POST', `${URL_OF}/ops/test`);
    assert.deepEqual([tested.status, tested.headers['svc-error-code']], [409, 'no-mail-server']);
  } finally {
    await harness.close();
  }
});
