import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { ApiError } from '../../contract/error-codes.js';
import { DIALECTS } from '../../dialects/index.js';
import { parseDestination } from './destination.js';
import { formatDuration, parseDuration } from './duration.js';
import { parseFlowControlValue } from './flow-control-value.js';
import { AnyOf } from './multi-value.js';
import { readPrefixedHeaders } from './prefixed-headers.js';
import { readQuery, splitQuery } from './query.js';
import { parseRedactFields } from './redact-fields.js';
import { quoteValue } from './value-errors.js';
import { Labels, RetryDelay, StoredText, UnixMs } from './values.js';

const refused = (code: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ApiError, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, message);
  return true;
};

test('parses all forms of durations and rejects other text', () => {
  const good: Readonly<Record<string, number>> = {
    '0': 0,
    '30': 30_000,
    '30s': 30_000,
    '5m': 300_000,
    '12h': 43_200_000,
    '1d10h': 122_400_000,
    '1d2h3m4s': 93_784_000,
    '10h1d': 122_400_000,
  };
  for (const [text, ms] of Object.entries(good)) assert.equal(parseDuration(text), ms, text);
  for (const text of ['', ' ', 's', '1.5s', '-1s', '1w', '1s1s', '5 m', '1e3', '1s!', 'x1s', '99999999999999s', '1S'])
    assert.equal(parseDuration(text), null, text);
  assert.equal(formatDuration(122_400_000), '1d10h');
  assert.equal(formatDuration(0), '0s');
});

test('parses flow control values in any order, with or without spaces', () => {
  assert.deepEqual(parseFlowControlValue('parallelism=3'), { parallelism: 3 });
  assert.deepEqual(parseFlowControlValue('rate=10'), { rate: 10, periodMs: 1_000 });
  assert.deepEqual(parseFlowControlValue('period=1m,rate=10, parallelism = 2'), { parallelism: 2, rate: 10, periodMs: 60_000 });
  const bad: Readonly<Record<string, RegExp>> = {
    'parallelism=0': /parallelism that is an integer from 1 to \d+, not "0"/,
    'parallelism=1.5': /not "1.5"/,
    'rate=-1': /rate that is/,
    'period=1m': /must not have a period without a rate/,
    'rate=1, period=8d': /period from 1s to 7d/,
    'rate=1, period=soon': /not "soon"/,
    'rate=1, rate=2': /rate is given more than once/,
    'speed=1': /"speed=1" is not allowed/,
    rate: /is not allowed/,
    'rate=1=2': /is not allowed/,
    'rate=1,': /is not allowed/,
  };
  for (const [text, words] of Object.entries(bad)) assert.throws(() => parseFlowControlValue(text), { message: words }, text);
});

test('parses all forms of redacted fields and rejects unknown parts', () => {
  assert.deepEqual(parseRedactFields('body'), { body: true, headers: [], fields: [] });
  assert.deepEqual(parseRedactFields('header, header[X-Key]'), { body: false, headers: true, fields: [] });
  assert.deepEqual(parseRedactFields('header[Authorization],header[x-key] , header[X-Key]'), {
    body: false,
    headers: ['authorization', 'x-key'],
    fields: [],
  });
  assert.deepEqual(parseRedactFields('iban, body[card number], body[headers], größe'), {
    body: false,
    headers: [],
    fields: ['iban', 'card number', 'headers', 'größe'],
  });
  const bad: Readonly<Record<string, RegExp>> = {
    'a,,b': /"" is none of these/,
    'header[]': /"header\[\]" is none/,
    'header[a b]': /none of these/,
    'body[': /"body\[" is none/,
    'body[a[0]]': /none of these/,
    'two words': /none of these/,
    headers: /must not contain "headers"; use header, or body\[headers\]/,
    Body: /use body/,
    [Array.from({ length: 51 }, (_, i) => `f${i}`).join()]: /at most 50 fields, but contains 51/,
  };
  for (const [text, words] of Object.entries(bad)) assert.throws(() => parseRedactFields(text), { message: words }, text);
});

test('keeps destinations unchanged and rejects URLs that cannot be called', () => {
  for (const url of ['http://a.test', 'https://a.test/b?c=d%20e', 'HTTP://A.test:8080/', 'http://[::1]:3000/x'])
    assert.equal(parseDestination(url), url);
  assert.equal(parseDestination('https://a.test/b#part'), 'https://a.test/b');
  assert.equal(parseDestination('https:/a.test/b'), 'https://a.test/b', 'a proxy merged the two slashes');
  const bad: Readonly<Record<string, RegExp>> = {
    '': /absolute http or https URL/,
    'a.test/b': /absolute http or https URL, not "a\.test/,
    'ftp://a.test': /absolute http or https URL/,
    'javascript:alert(1)': /absolute http or https URL/,
    'http://': /absolute http or https URL/,
    'http://a b.test': /whitespace/,
    'http://a.test/\nx': /whitespace or control characters/,
    'http://a.test/\ud800': /must not contain an unpaired surrogate/,
    'http://u:p@a.test/': /user name or password/,
    'http://a.test:99999/': /must be a valid absolute http or https URL/,
    [`http://a.test/${'x'.repeat(3_000)}`]: /longer than 2048 characters/,
  };
  for (const [url, words] of Object.entries(bad))
    assert.throws(() => parseDestination(url), { message: words, code: 'bad-url' }, url);
});

test('quotes values in messages: shortened and without control characters', () => {
  assert.equal(quoteValue('a"b\n'), '"a\\"b\\n"');
  assert.ok(quoteValue('x'.repeat(1_000)).length < 100);
  assert.equal(quoteValue('\u009b31m'), '"?31m"');
});

const Query = Type.Object({
  label: Type.Optional(AnyOf(Type.String({ minLength: 1 }), '')),
  state: Type.Optional(AnyOf(Type.Enum(['A', 'B'], { type: 'string' }), '')),
  key: Type.Optional(AnyOf(Type.String({ minLength: 1, maxLength: 8 }), '', 'may-be-inside')),
  prefix: Type.Optional(AnyOf(Type.String({ minLength: 1 }), '', 'before-a-url')),
  count: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
  fromDate: Type.Optional(UnixMs('')),
  trimBody: Type.Optional(Type.Boolean()),
  workflowRunId: Type.Optional(Type.String({ minLength: 1, maxLength: 5 })),
  cursor: Type.Optional(Type.String()),
});
const read = (query: string, unknown: 'ignore' | 'refuse' = 'ignore') =>
  readQuery(Query, splitQuery(query), { unknown, otherNames: ['svc_token'] });

test('accepts several values repeated or separated by commas, and removes duplicates', () => {
  assert.deepEqual(read('label=a&label=b').label, ['a', 'b']);
  for (const comma of [',', '%2C', '%2c']) {
    assert.deepEqual(read(`label=a${comma}b`).label, ['a', 'b']);
    assert.deepEqual(read(`state=A${comma}B`).state, ['A', 'B']);
    assert.deepEqual(read(`label=a${comma}b&label=c${comma}a`).label, ['a', 'b', 'c']);
  }
  assert.deepEqual(read('label=a%2Cb,c%252Cd,a').label, ['a', 'b', 'c%2Cd'], 'each value is listed once and decoded once');
  assert.deepEqual(read('label=gr%C3%BCn+1').label, ['grün 1']);
});

test('a value that may contain a comma matches as a whole and split, and is not split when repeated', () => {
  assert.deepEqual(read('key=a').key, ['a']);
  for (const comma of [',', '%2C']) {
    assert.deepEqual(read(`key=a${comma}b`).key, ['a', 'b', 'a,b']);
    assert.deepEqual(read(`key=a${comma}${comma}b${comma}`).key, ['a', 'b', 'a,,b,']);
    assert.deepEqual(read(`key=a${comma}b&key=a${comma}b`).key, ['a,b']);
    assert.deepEqual(read(`key=a${comma}b&key=c`).key, ['a,b', 'c']);
    assert.deepEqual(read(`key=${comma}`).key, [',']);
    assert.deepEqual(read(`key=aaaaa${comma}bbbbb`).key, ['aaaaa', 'bbbbb'], 'a value that is too long as a whole is split');
  }
  assert.throws(
    () => read('key=a,bbbbbbbbb'),
    refused('bad-parameter', /^key must be a string of 1 to 8 characters, not "bbbbbbbbb"$/),
  );
  assert.throws(() => read('key='), refused('bad-parameter', /^key must not be empty/));
  assert.throws(() => read('key=a&key='), refused('bad-parameter', /^key must not be empty/));
});

test('splits a URL prefix only where another URL follows', () => {
  assert.deepEqual(read('prefix=http://a/x,y').prefix, ['http://a/x,y']);
  assert.deepEqual(read('prefix=http://a/x%2Cy%2CHTTPS://b/').prefix, ['http://a/x,y', 'HTTPS://b/', 'http://a/x,y,HTTPS://b/']);
});

test('parses numbers, booleans and strings strictly', () => {
  assert.deepEqual(read('count=10&fromDate=0&trimBody=true&workflowRunId=a%2Fb'), {
    count: 10,
    fromDate: 0,
    trimBody: true,
    workflowRunId: 'a/b',
  });
  assert.equal(
    read('fromDate=9223372036854775807').fromDate,
    Number.MAX_SAFE_INTEGER,
    'an int64 is capped at the largest safe integer',
  );
  assert.equal(read('cursor=').cursor, '');
  assert.deepEqual(read(''), {});
  assert.deepEqual(read('&&'), {});
  for (const text of ['0', '11', '-1', '1.5', '1e1', '0x5', '', '%20', 'ten', '99999999999999999999', '１']) {
    const query = `count=${encodeURIComponent(text)}`;
    assert.throws(() => read(query), refused('bad-parameter', /^count must /), query);
  }
});

test('rejects U+0000 in stored text, because some stores cannot store it', () => {
  const schema = Type.Object({ id: StoredText(5, {}) });
  const readId = (id: string) =>
    readQuery(schema, splitQuery(`id=${encodeURIComponent(id)}`), { unknown: 'refuse', otherNames: [] }).id;
  assert.equal(readId('a/b'), 'a/b');
  assert.throws(() => readId('a\u0000b'), refused('bad-parameter', /^id must not contain the character U\+0000/));
  assert.throws(() => readId('abcdef'), refused('bad-parameter', /^id must be a string of 1 to 5 characters, not "abcdef"/));
  assert.throws(() => readId(''), refused('bad-parameter', /^id must not be empty/));
});

test('an error contains the parameter, its value and the allowed values', () => {
  const table: readonly (readonly [query: string, words: RegExp])[] = [
    ['count=11', /^count must be an integer from 1 to 10, not "11"$/],
    ['fromDate=-1', /^fromDate must be an integer of at least 0, not "-1"$/],
    ['state=A,C', /^state must be one of A, B, not "C"$/],
    ['trimBody=yes', /^trimBody must be true or false, not "yes"$/],
    ['workflowRunId=abcdef', /^workflowRunId must be a string of 1 to 5 characters, not "abcdef"$/],
    ['workflowRunId=', /^workflowRunId must not be empty/],
    ['label=', /^label must not be empty/],
    ['label=a,,b', /^label must not be empty/],
    ['count=1&count=2', /^count must have one value, but has 2$/],
    ['label=%ZZ', /label is not correctly percent-encoded/],
    ['%ZZ=1', /percent-encoded/],
    [`label=${Array.from({ length: 101 }, (_, i) => i).join(',')}`, /^label must have at most 100 values, but has 101$/],
    [`key=${Array.from({ length: 101 }, (_, i) => i).join('%2C')}`, /^key must have at most 100 values, but has 101$/],
  ];
  for (const [query, words] of table) assert.throws(() => read(query), refused('bad-parameter', words), query);
});

test('ignores or rejects unknown parameters, but always accepts the token', () => {
  assert.deepEqual(read('lable=a&constructor=b'), {});
  assert.throws(
    () => read('lable=a', 'refuse'),
    refused('bad-parameter', /unknown query parameter "lable" for this operation; it supports label, /),
  );
  assert.throws(() => read('toString=a', 'refuse'), refused('bad-parameter', /unknown query parameter "toString"/));
  assert.deepEqual(read('svc_token=x', 'refuse'), {});
});

const Headers = Type.Object({
  Retries: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  'Retry-Delay': Type.Optional(RetryDelay({})),
  Label: Type.Optional(Labels({})),
});
const families = ['Failure-Callback-Forward-', 'Forward-'] as const;
const readHeaders = (headers: Record<string, string | string[]>) =>
  readPrefixedHeaders(Headers, families, headers, DIALECTS.native);

test('reads prefixed headers and families and ignores other headers', () => {
  const { values, families: headersByFamily } = readHeaders({
    host: 'x',
    retries: '9',
    'svc-retries': '3',
    'svc-label': 'a, b',
    'svc-forward-x-a': '1',
    'svc-forward-retries': '2',
    'svc-failure-callback-forward-x-b': '3',
  });
  assert.deepEqual(values, { Retries: 3, Label: ['a', 'b'] });
  assert.deepEqual(headersByFamily, { 'Forward-': { 'x-a': '1', retries: '2' }, 'Failure-Callback-Forward-': { 'x-b': '3' } });
});

test('does not forward signatures of the server, but forwards others', () => {
  for (const dialect of Object.values(DIALECTS)) {
    const prefix = dialect.receivedPrefix;
    const own = ['signature', 'signature-ed25519'].map((name) => [`${prefix}forward-${prefix}${name}`, 'a.b.c']);
    const headers = { ...Object.fromEntries(own), [`${prefix}forward-x-hub-signature`]: 'theirs' };
    const { families: headersByFamily } = readPrefixedHeaders(Headers, families, headers, dialect);
    assert.deepEqual(headersByFamily['Forward-'], { 'x-hub-signature': 'theirs' });
  }
});

test('reads header text as UTF-8, or as Latin-1 if it is not valid UTF-8', () => {
  assert.deepEqual(readHeaders({ 'svc-label': Buffer.from('grün').toString('latin1') }).values.Label, ['grün']);
  assert.deepEqual(readHeaders({ 'svc-label': 'gr\xfcn' }).values.Label, ['grün']);
});

test('an error names the header in the spelling of the dialect', () => {
  const table: readonly (readonly [headers: Record<string, string | string[]>, code: string, words: RegExp])[] = [
    [{ 'svc-retries': '-1' }, 'bad-header', /^Svc-Retries must be an integer from 0 to 100, not "-1"$/],
    [{ 'svc-retries': ['1', '2'] }, 'bad-header', /^Svc-Retries must be .* not "1, 2"$/],
    [{ 'svc-retries': '' }, 'bad-header', /^Svc-Retries must not be empty/],
    [{ 'svc-label': 'a,,b' }, 'bad-header', /^Svc-Label must be non-empty labels/],
    [{ 'svc-label': Array.from({ length: 21 }, (_, i) => String(i)) }, 'bad-header', /at most 20 labels, but contains 21/],
    [{ 'svc-retry-delay': 'process.exit()' }, 'bad-expression', /^Svc-Retry-Delay is not a valid expression/],
    [{ 'svc-retry-delay': 'x'.repeat(600) }, 'bad-expression', /longer than 512/],
    [{ 'svc-retrys': '1' }, 'bad-header', /unknown header "svc-retrys"; this operation supports Svc-Retries, .*Svc-Forward-\*/],
    [{ 'svc-forward-': '1' }, 'bad-header', /unknown header "svc-forward-"/],
  ];
  for (const [headers, code, words] of table)
    assert.throws(() => readHeaders(headers), refused(code, words), JSON.stringify(headers).slice(0, 80));
});
