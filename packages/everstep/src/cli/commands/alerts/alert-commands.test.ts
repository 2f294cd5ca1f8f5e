import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SmtpServer } from '../../../mail/smtp-server.fixture.js';
import { CliHarness } from '../../testing/cli-harness.js';

describe('everstep alerts', () => {
  let harness: CliHarness;
  let smtp: SmtpServer;
  const received: string[] = [];
  before(async () => {
    smtp = await SmtpServer.open();
    const mail = ['--smtp-url', `smtp://127.0.0.1:${smtp.port}`, '--smtp-tls', 'optional', '--smtp-from', 'everstep@shop.test'];
    harness = await CliHarness.open(
      () => (request, response) => {
        received.push(String(request.headers['webhook-signature']));
        response.writeHead(200).end();
      },
      [...mail, '--smtp-recipients', 'shop.test'],
    );
  });
  after(async () => {
    await harness.close();
    await smtp.close();
  });
  const alerts = (...words: readonly string[]) => harness.textOf('alerts', ...words);

  test('manages destinations, rules and lifecycle webhooks, and lists alerts', async () => {
    const url = `${harness.appUrl}/hook`;
    assert.match(await alerts('destinations', 'put', 'ops', url, '--kind', 'webhook'), /^secret: whsec_[A-Za-z0-9+/=]+\n$/);
    assert.equal(await alerts('destinations', 'put', 'ops', url, '--kind', 'webhook'), 'ops was saved\n');
    assert.match(await alerts('destinations', 'put', 'ops', url, '--kind', 'webhook', '--rotate-secret'), /^secret: /);
    await alerts('destinations', 'put', 'chat', `${harness.appUrl}/services/T1`, '--kind', 'slack');
    const two = await harness.everstep('alerts', 'destinations', 'put', 'people', url, url, '--kind', 'slack');
    assert.match(two.stderr, /a destination of the kind slack has one URL/);
    const destinations = await alerts('destinations', 'list');
    assert.match(destinations, /^NAME +KIND +URL\nops +webhook +http.*\/hook\nchat +slack +http/);
    assert.ok(!destinations.includes('T1'));
    await alerts('rules', 'put', 'failed', '--kind', 'run-failed', '--to', 'ops', '--to', 'chat', '--end-after', '1h');
    assert.match(await alerts('rules', 'list'), /failed +yes +run-failed +endAfterMs=3600000 +ops, chat\n/);
    const slow = ['rules', 'put', 'slow', '--kind', 'run-age', '--max-age', '2h', '--quiet'];
    await alerts(...slow, '22:00-07:00 Europe/Berlin');
    assert.match(await alerts('rules', 'list'), /slow +yes +run-age +maxAgeMs=7200000\n/);
    for (const hours of ['22:00', '07:00-07:00 UTC', '22:00-07:00 Mars/Base'])
      assert.notEqual((await harness.everstep('alerts', ...slow, hours)).code, 0, hours);
    await alerts('rules', 'delete', 'slow');
    await alerts('webhooks', 'put', 'ends', '--to', 'ops', '--event', 'run.failed', '--label', 'vip');
    assert.match(await alerts('webhooks', 'list'), /ends +yes +run\.failed +- +vip +ops\n/);
    assert.equal(await alerts('list', '--state', 'open'), 'No alerts.\n');
    assert.match(await alerts('destinations', 'test', 'ops'), /^msg_/);
    const { code, stderr } = await harness.everstep('alerts', 'destinations', 'delete', 'ops');
    assert.notEqual(code, 0);
    assert.match(stderr, /is used by an alert rule or a lifecycle webhook/);
    await alerts('webhooks', 'delete', 'ends');
    await alerts('rules', 'delete', 'failed');
    assert.equal(await alerts('destinations', 'delete', 'ops'), '1 deleted\n');
    assert.deepEqual((await harness.jsonOf('alerts', 'destinations', 'list')).destinations.length, 1);
    assert.match(received[0] ?? '', /^v1,/);
  });

  test('sends a test notice by email', async () => {
    const put = ['destinations', 'put', 'people', 'a@shop.test', 'b@shop.test', '--kind', 'email'] as const;
    assert.equal(await alerts(...put), 'people was saved\n');
    assert.match(await alerts('destinations', 'list'), /people +email +mailto:a@shop\.test,b@shop\.test\n/);
    await alerts('destinations', 'test', 'people');
    const { to, data } = await smtp.next();
    assert.deepEqual(to, ['a@shop.test', 'b@shop.test']);
    assert.match(data, /^Subject: \[Everstep\] Test: This is a test of an alert destination\./m);
    assert.match(data, /http:\/\/127\.0\.0\.1:\d+\/q\/\S+\/alerts/);
    const refused = await harness.everstep('alerts', 'destinations', 'put', 'people', 'a@other.test', '--kind', 'email');
    assert.match(refused.stderr, /is not allowed to receive email from this installation/);
  });
});
