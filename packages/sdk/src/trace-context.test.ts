import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatTraceparent, parseTraceparent, readTraceContext } from './trace-context.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const PARENT = `00-${TRACE}-${SPAN}-01`;

test('a traceparent is read and written', () => {
  assert.deepEqual(parseTraceparent(PARENT), { traceId: TRACE, spanId: SPAN, isSampled: true });
  assert.equal(parseTraceparent(`00-${TRACE}-${SPAN}-00`)?.isSampled, false);
  assert.equal(formatTraceparent({ traceId: TRACE, spanId: SPAN, isSampled: true }), PARENT);
});

test('a later version is read as version 00, with the flags that are known', () => {
  assert.deepEqual(readTraceContext({ traceparent: `cc-${TRACE}-${SPAN}-ff-what-comes-later` }), {
    traceparent: `00-${TRACE}-${SPAN}-03`,
  });
});

for (const [what, text] of [
  ['no text', ''],
  ['version ff', `ff-${TRACE}-${SPAN}-01`],
  ['fields after version 00', `${PARENT}-more`],
  ['a version that runs into other characters', `cc-${TRACE}-${SPAN}-01.more`],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['capital letters', PARENT.toUpperCase()],
  ['a short trace id', `00-${TRACE.slice(1)}-${SPAN}-01`],
  ['two headers', `${PARENT}, ${PARENT}`],
  ['a text that is too long', `cc-${TRACE}-${SPAN}-01-${'x'.repeat(300)}`],
] as const) {
  test(`a traceparent with ${what} is ignored, and so is its tracestate`, () => {
    assert.equal(readTraceContext({ traceparent: text, tracestate: 'a=1' }), undefined);
  });
}

test('a valid tracestate is passed on unchanged', () => {
  for (const tracestate of ['vendor=00f067aa0ba902b7,congo=t61rcWkgMzE', 'fw529a3039@dt=FfAxjF , , a=!b c']) {
    assert.deepEqual(readTraceContext({ traceparent: PARENT, tracestate }), { traceparent: PARENT, tracestate });
  }
});

for (const [what, tracestate] of [
  ['no value', 'vendor'],
  ['a key with capital letters', 'Vendor=1'],
  ['a line break in its value', 'vendor=1\r\nx=2'],
  ['too many members', Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(',')],
  ['too many characters', `a=${'x'.repeat(250)},b=${'x'.repeat(250)},c=${'x'.repeat(250)}`],
] as const) {
  test(`a tracestate with ${what} is ignored alone`, () => {
    assert.deepEqual(readTraceContext({ traceparent: PARENT, tracestate }), { traceparent: PARENT });
  });
}
