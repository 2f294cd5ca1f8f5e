import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webhookHeaders } from './webhook-signature.js';

test('the signature equals the example of Standard Webhooks', () => {
  const body = Buffer.from('{"test": 2432232314}');
  const signed = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' };
  assert.deepEqual(webhookHeaders(signed, body, 1_614_265_330_999), {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});
