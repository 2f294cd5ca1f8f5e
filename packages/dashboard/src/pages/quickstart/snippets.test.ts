import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { QUICKSTART_OPTIONS, type QuickstartOption, shortenSecrets, stepsOf } from './snippets.js';

const ACCESS = {
  url: 'http://127.0.0.1:8080',
  token: 'the-token',
  instanceId: 'qi_1',
  currentSigningKey: 'sig_1',
  nextSigningKey: 'sig_2',
};
const README = readFileSync(new URL('../../../../../README.md', import.meta.url), 'utf8');
const unindented = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim())
    .join('\n');

test('each option has three steps', () => {
  // Object.keys returns the names of the table.
  for (const option of Object.keys(QUICKSTART_OPTIONS) as QuickstartOption[])
    assert.equal(stepsOf(option, ACCESS).length, 3, option);
});

test('the first workflow is the one in README.md, which a test follows', () => {
  const [settings, app, trigger] = stepsOf('typescript', ACCESS);
  assert.equal(settings?.code, 'EVERSTEP_URL=http://127.0.0.1:8080\nEVERSTEP_TOKEN=the-token');
  assert.ok(unindented(README).includes(unindented(app?.code ?? '?')));
  const shown = trigger?.code.replace(ACCESS.url, '$EVERSTEP_URL').replace(ACCESS.token, '$EVERSTEP_TOKEN') ?? '';
  assert.ok(unindented(README).replace('-H "Svc-Wait-For-Result: 30s" ', '').includes(unindented(shown)));
});

test('the published SDK gets the token in its own format', () => {
  const [settings] = stepsOf('upstash', ACCESS);
  const token = /QSTASH_TOKEN=(.*)/.exec(settings?.code ?? '')?.[1] ?? '';
  assert.deepEqual(JSON.parse(atob(token)), { UserID: 'qi_1', Password: 'the-token' });
});

test('secrets are shortened on the screen', () => {
  for (const option of Object.keys(QUICKSTART_OPTIONS) as QuickstartOption[]) {
    const shown = stepsOf(option, ACCESS).map(({ code }) => shortenSecrets(code, ACCESS));
    assert.doesNotMatch(shown.join(), /the-token|dGhlLXRva2Vu/, option);
  }
});
