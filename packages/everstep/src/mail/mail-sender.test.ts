import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LOCAL_CERTIFICATE, TEST_CA } from '../config/certificates.fixture.js';
import { LIMITS } from '../config/limits.js';
import type { MailSettings } from '../config/mail/mail-settings.js';
import type { MailTarget, Message, MessageOutcome } from '../ports/message-sender.js';
import { MailSender } from './mail-sender.js';
import { SmtpServer, type SmtpServerOptions } from './smtp-server.fixture.js';

const HOUR_MS = 3_600_000;
const NEVER = new AbortController().signal;
const SECURE: SmtpServerOptions = { certificate: LOCAL_CERTIFICATE };

const messageTo = (
  to: readonly string[],
  content: object = { subject: 'Alert: a run failed', text: 'Step: charge' },
): Message => ({
  ...{ instanceId: 'qi_1', dialect: 'native', method: 'POST', url: 'mailto:ops@shop.test', headers: {} },
  ...{
    body: Buffer.from(JSON.stringify(content)),
    timeoutMs: 30_000,
    maxResponseBytes: 1_000,
    signed: null,
    headerMode: 'forwarded',
  },
  mail: { id: 'msg_1', to } satisfies MailTarget,
});

interface Harness {
  readonly server: SmtpServer;
  readonly warnings: object[];
  readonly sender: MailSender;
  send(to: readonly string[], content?: object, signal?: AbortSignal): Promise<MessageOutcome>;
  now: number;
}

/** Runs `work` with an SMTP server, and a sender that uses it. */
async function withServer(
  options: SmtpServerOptions,
  settings: Partial<MailSettings> | null,
  work: (harness: Harness) => Promise<void>,
): Promise<void> {
  const server = await SmtpServer.open(options);
  const warnings: object[] = [];
  const others = { send: () => assert.fail('is not sent by HTTP') };
  const mail = settings && {
    ...{ host: '127.0.0.1', port: server.port, login: null, tls: 'upgrade' as const },
    ...{ from: 'everstep@shop.test', recipients: [] },
    ...settings,
  };
  const log = { debug() {}, info() {}, warn: (fields: object) => warnings.push(fields), error() {} };
  const sender = new MailSender(others, { settings: mail, now: () => harness.now, log, ca: TEST_CA });
  const harness: Harness = {
    ...{ server, warnings, sender, now: HOUR_MS },
    send: (to, content, signal = NEVER) => sender.send(messageTo(to, content), signal),
  };
  try {
    await work(harness);
  } finally {
    await server.close();
  }
}

const failureOf = (outcome: MessageOutcome) => (outcome.kind === 'failure' ? outcome.failure : assert.fail('it was sent'));
const LOGIN = { user: 'ann', password: 'secret' };

describe('email', () => {
  test('is sent over TLS with a login, once for all recipients', () =>
    withServer(SECURE, { login: LOGIN }, async ({ server, send, warnings }) => {
      const result = await send(['ops@shop.test', 'ann@shop.test']);
      assert.ok(result.kind === 'response', JSON.stringify([result, warnings]));
      assert.deepEqual([result.status, Buffer.from(result.body).toString()], [250, '250 queued as 1']);
      const [mail, ...others] = server.mails;
      assert.equal(others.length, 0);
      const { data = '', ...rest } = mail ?? {};
      assert.deepEqual(rest, {
        ...{ from: 'everstep@shop.test', to: ['ops@shop.test', 'ann@shop.test'] },
        ...{ isEncrypted: true, login: 'ann:secret' },
      });
      assert.match(data, /^From: Everstep <everstep@shop\.test>\r\nTo: ops@shop\.test, ann@shop\.test\r\n/m);
      assert.match(data, /^Subject: Alert: a run failed\r\n/m);
      assert.match(data, /^Message-ID: <msg_1@shop\.test>\r\n/im);
      assert.match(data, /^Auto-Submitted: auto-generated\r\n/m);
      assert.match(data, /\r\n\r\nStep: charge/);
    }));

  test('is sent with TLS from the start', () =>
    withServer({ ...SECURE, isSecure: true }, { tls: 'from-start' }, async ({ server, send }) => {
      assert.equal((await send(['ops@shop.test'])).kind, 'response');
      assert.equal(server.mails[0]?.isEncrypted, true);
    }));

  test('is not sent in plain text unless the operator allows it', async () => {
    await withServer({}, { login: LOGIN }, async ({ server, send }) => {
      assert.match(
        failureOf(await send(['ops@shop.test'])).message,
        /^could not send the email through the SMTP server \(E[A-Z]+\)$/,
      );
      assert.deepEqual(server.mails, []);
    });
    await withServer({}, { tls: 'if-offered' }, async ({ server, send }) => {
      assert.equal((await send(['ops@shop.test'])).kind, 'response');
      assert.equal(server.mails[0]?.isEncrypted, false);
    });
  });

  test('is retried if the server is unreachable, without an address in the error or in the log', () =>
    withServer(SECURE, { host: '127.0.0.1', port: 1 }, async ({ send, warnings }) => {
      const { cause, message, retry } = failureOf(await send(['ops@shop.test']));
      assert.deepEqual([cause, retry.kind], ['network', 'backoff']);
      assert.doesNotMatch(JSON.stringify([message, warnings]), /127\.0\.0\.1|ops@/);
      assert.equal(warnings.length, 1);
    }));

  test('is retried if a recipient is refused temporarily, and not if it is refused permanently', async () => {
    const withResponse = (response: string) =>
      withServer({ ...SECURE, onRecipient: () => response }, {}, async ({ send }) => {
        const { cause, message, retry } = failureOf(await send(['ops@shop.test']));
        assert.deepEqual([cause, retry.kind], ['refused', response.startsWith('4') ? 'backoff' : 'never']);
        assert.ok(message.includes(response));
      });
    await withResponse('451 greylisted');
    await withResponse('550 no such user');
    const onRecipient = (address: string) => (address.startsWith('ops') ? '250 ok' : '550 no such user');
    await withServer({ ...SECURE, onRecipient }, {}, async ({ send, server }) => {
      assert.equal((await send(['gone@shop.test', 'ops@shop.test'])).kind, 'response');
      assert.deepEqual(server.mails[0]?.to, ['ops@shop.test'], 'the others are not notified twice');
    });
  });

  test('cannot get more headers or recipients from its content', () =>
    withServer(SECURE, {}, async ({ send, server }) => {
      const subject = 'Alert\r\nBcc: all@other.test\r\n\r\nhello';
      await send(['ops@shop.test'], { subject, text: '.\r\n.\r\nRCPT TO:<all@other.test>\r\n' });
      const [mail, ...others] = server.mails;
      assert.deepEqual([mail?.to, others.length], [['ops@shop.test'], 0]);
      assert.doesNotMatch(mail?.data ?? '', /^Bcc:/im);
    }));

  test('is sent only to recipients that the operator allows', () =>
    withServer(SECURE, { recipients: ['@shop.test', 'ann@other.test'] }, async ({ sender, send, server }) => {
      assert.deepEqual(
        ['Ops@Shop.test', 'ann@other.test', 'bob@other.test', 'ops@my-shop.test', 'ops@shop.test.evil.test'].map((each) =>
          sender.allows(each),
        ),
        [true, true, false, false, false],
      );
      const { message, retry } = failureOf(await send(['ops@shop.test', 'bob@other.test']));
      assert.match(message, /not allowed to receive email/);
      assert.equal(retry.kind, 'never');
      assert.deepEqual(server.mails, []);
    }));

  test('is sent to a limited number of recipients per hour and instance', () =>
    withServer({ ...SECURE, onRecipient: () => '550 no' }, {}, async (harness) => {
      const many = Array.from({ length: LIMITS.maxMailRecipientsPerHour / 2 }, (_, index) => `a${index}@shop.test`);
      for (let n = 0; n < 2; n++) assert.match(failureOf(await harness.send(many)).message, /^the SMTP server rejected/);
      const { message, retry } = failureOf(await harness.send(['ops@shop.test']));
      assert.match(message, /limit of 300 email recipients per hour/);
      assert.deepEqual(retry, { kind: 'after', delayMs: HOUR_MS });
      harness.now += HOUR_MS;
      assert.match(failureOf(await harness.send(['ops@shop.test'])).message, /^the SMTP server rejected/);
    }));

  test('fails clearly without a server, and for the notice of another kind of destination', async () => {
    await withServer({}, null, async ({ send }) => {
      const { message, retry } = failureOf(await send(['ops@shop.test']));
      assert.deepEqual([message, retry.kind], ['no SMTP server is configured', 'backoff']);
    });
    await withServer({}, {}, async ({ send }) => {
      assert.equal(failureOf(await send(['ops@shop.test'], { type: 'alert.opened' })).retry.kind, 'never');
    });
  });

  test('is given up when its message is canceled', () =>
    withServer({ isSilent: true }, {}, async ({ send, warnings }) => {
      const control = new AbortController();
      const sending = send(['ops@shop.test'], undefined, control.signal);
      control.abort();
      assert.equal(failureOf(await sending).retry.kind, 'backoff');
      assert.deepEqual(warnings, []);
    }));

  test('other messages are passed on', async () => {
    const received: MessageOutcome = { kind: 'response', status: 204, headers: {}, body: new Uint8Array() };
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const sender = new MailSender({ send: async () => received }, { settings: null, now: () => 0, log });
    const { mail: _mail, ...message } = messageTo([]);
    assert.equal(await sender.send(message, NEVER), received);
  });
});
