import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDestinationRule } from './destination-rules.js';

const host = (name: string, port: number | null = null, matchesSubdomains = false) => ({
  kind: 'host',
  host: name,
  matchesSubdomains,
  port,
});
const range = (address: string, prefix: number, port: number | null = null) => ({ kind: 'range', address, prefix, port });

test('a rule names a host, an address or a range, with or without a port', () => {
  const table: readonly (readonly [text: string, rule: unknown])[] = [
    ['app.internal', host('app.internal')],
    ['App.Internal.', host('app.internal')],
    ['my_app:8080', host('my_app', 8080)],
    ['*.example.com', host('example.com', null, true)],
    ['*.example.com:443', host('example.com', 443, true)],
    ['10.0.0.5', range('10.0.0.5', 32)],
    ['10.0.0.5:8080', range('10.0.0.5', 32, 8080)],
    ['10.96.0.0/12', range('10.96.0.0', 12)],
    ['10.96.0.0/12:443', range('10.96.0.0', 12, 443)],
    ['fd00::1', range('fd00::1', 128)],
    ['[fd00::1]', range('fd00::1', 128)],
    ['[fd00::1]:8080', range('fd00::1', 128, 8080)],
    ['fd00::/8', range('fd00::', 8)],
    ['fd00::/8:443', range('fd00::', 8, 443)],
    ['[fd00::/8]:443', range('fd00::', 8, 443)],
    ['0.0.0.0/0', range('0.0.0.0', 0)],
  ];
  for (const [text, rule] of table) assert.deepEqual(parseDestinationRule(text), rule, text);
});

test('an invalid rule is refused', () => {
  const texts = [
    ...['', ' ', 'a b', 'http://x', 'http://x/', 'x/', '1.2.3.4/', '1.2.3.4/x', '10.0.0.0/33', '10.0.0/8', 'fd00::/129'],
    ...['host:', 'host:0', 'host:65536', 'host:http', 'host:80:80', '1.2.3.4:', '10.0.0.0/8:x', '[fd00::1', '[host]', '[::1]x'],
    ...[
      '127.1',
      '2130706433',
      '0x7f.1',
      'a..b',
      '*',
      '*.',
      '*.*.example.com',
      'a.*.example.com',
      'fe80::1%eth0',
      'ex\u00e4mple.com',
    ],
  ];
  for (const text of texts) assert.equal(parseDestinationRule(text), null, JSON.stringify(text));
});
