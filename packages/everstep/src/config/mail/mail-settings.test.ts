import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ParsedConfig, parseConfig } from '../config.js';

const parse = (env: Readonly<Record<string, string>>): ParsedConfig =>
  parseConfig({ mode: 'serve', flags: {}, env, cwd: '/srv' });

function mailOf(env: Readonly<Record<string, string>>) {
  const parsed = parse({ EVERSTEP_SMTP_FROM: 'everstep@shop.test', ...env });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return parsed.config.mail;
}

test('an SMTP server requires TLS unless a setting says otherwise', () => {
  assert.deepEqual(mailOf({ EVERSTEP_SMTP_URL: 'smtp://ann%40shop.test:p%3Aw@mail.test' }), {
    ...{ host: 'mail.test', port: 587, login: { user: 'ann@shop.test', password: 'p:w' }, tls: 'upgrade' },
    ...{ from: 'everstep@shop.test', recipients: [] },
  });
  const secure = mailOf({ EVERSTEP_SMTP_URL: 'smtps://[fd00::1]', EVERSTEP_SMTP_TLS: 'optional' });
  assert.deepEqual([secure?.host, secure?.port, secure?.login, secure?.tls], ['fd00::1', 465, null, 'from-start']);
  assert.equal(mailOf({ EVERSTEP_SMTP_URL: 'smtp://mail.test:25', EVERSTEP_SMTP_TLS: 'optional' })?.tls, 'if-offered');
  const list = { EVERSTEP_SMTP_URL: 'smtp://mail.test', EVERSTEP_SMTP_RECIPIENTS: 'Shop.test, ops@other.test' };
  assert.deepEqual(mailOf(list)?.recipients, ['@shop.test', 'ops@other.test']);
});

test('without an SMTP server there is no email', () => {
  const parsed = parse({});
  assert.ok(parsed.ok);
  assert.equal(parsed.config.mail, null);
});

for (const [what, env, problem] of [
  ['a sender is missing', { EVERSTEP_SMTP_URL: 'smtp://mail.test' }, /without EVERSTEP_SMTP_FROM/],
  ['the server is missing', { EVERSTEP_SMTP_FROM: 'a@shop.test' }, /without EVERSTEP_SMTP_URL/],
  ['the scheme is wrong', { EVERSTEP_SMTP_URL: 'https://secret@mail.test' }, /^EVERSTEP_SMTP_URL must be a URL such as/],
  ['the URL has options', { EVERSTEP_SMTP_URL: 'smtp://mail.test/?tls.rejectUnauthorized=false' }, /without a path/],
  ['an escape is wrong', { EVERSTEP_SMTP_URL: 'smtp://%ff:secret@mail.test' }, /percent-encoded/],
  ['the sender has a line break', { EVERSTEP_SMTP_FROM: 'a@shop.test\r\nBcc: b@shop.test' }, /must be an email address/],
  ['the mode is unknown', { EVERSTEP_SMTP_TLS: 'none' }, /must be required or optional/],
  ['a recipient is invalid', { EVERSTEP_SMTP_RECIPIENTS: 'shop.test,*@x' }, /"\*@x" is invalid/],
] as const) {
  test(`a setting is refused if ${what}`, () => {
    const parsed = parse(env);
    assert.ok(!parsed.ok);
    assert.match(parsed.problems.join('\n'), problem);
    assert.doesNotMatch(parsed.problems.join('\n'), /secret@/);
  });
}
