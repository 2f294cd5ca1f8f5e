import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nextTickMs, parseCron } from './cron.js';

/** Returns the ticks after a time, as ISO texts in UTC. */
function ticks(cron: string, timeZone: string, after: string, count: number): string[] {
  const found: string[] = [];
  let at = Date.parse(after);
  while (found.length < count) {
    const next = nextTickMs(cron, timeZone, at);
    assert.ok(next !== null && next > at, `${cron} ticks after ${new Date(at).toISOString()}`);
    at = next;
    found.push(new Date(at).toISOString().replace(/(:00)?\.000Z$/, 'Z'));
  }
  return found;
}

for (const [cron, after, expected] of [
  ['0 9 * * *', '2027-01-01T09:00:00Z', ['2027-01-02T09:00Z', '2027-01-03T09:00Z']],
  ['0 9 * * *', '2027-01-01T08:59:59.999Z', ['2027-01-01T09:00Z']],
  ['*/20 * * * *', '2027-01-01T00:59:00Z', ['2027-01-01T01:00Z', '2027-01-01T01:20Z', '2027-01-01T01:40Z', '2027-01-01T02:00Z']],
  ['*/30 * * * * *', '2027-01-01T00:00:00Z', ['2027-01-01T00:00:30Z', '2027-01-01T00:01Z']],
  ['0 9-17/4 * * MON-FRI', '2027-01-01T13:00:00Z', ['2027-01-01T17:00Z', '2027-01-04T09:00Z']],
  ['0 0 1 JAN,jul *', '2027-01-01T00:00:00Z', ['2027-07-01T00:00Z', '2028-01-01T00:00Z']],
  ['0 0 L * *', '2028-01-31T00:00:00Z', ['2028-02-29T00:00Z', '2028-03-31T00:00Z']],
  ['0 0 * * MON#2', '2027-01-01T00:00:00Z', ['2027-01-11T00:00Z', '2027-02-08T00:00Z']],
  ['0 0 * * FRIL', '2027-01-01T00:00:00Z', ['2027-01-29T00:00Z', '2027-02-26T00:00Z']],
  ['0 0 * * 7', '2027-01-01T00:00:00Z', ['2027-01-03T00:00Z', '2027-01-10T00:00Z']],
  ['0 0 29 2 *', '2027-01-01T00:00:00Z', ['2028-02-29T00:00Z', '2032-02-29T00:00Z']],
  ['@weekly', '2027-01-01T00:00:00Z', ['2027-01-03T00:00Z']],
  // The day of the month or the day of the week is sufficient, as usual; with a plus, both must match.
  ['0 0 13 * FRI', '2027-01-01T00:00:00Z', ['2027-01-08T00:00Z', '2027-01-13T00:00Z']],
  ['0 0 13 * +FRI', '2027-01-01T00:00:00Z', ['2027-08-13T00:00Z']],
] as const) {
  test(`"${cron}" ticks at ${expected[0]} after ${after}`, () => {
    const parsed = parseCron(cron, 'UTC');
    assert.ok(parsed.ok);
    assert.deepEqual(ticks(parsed.cron, parsed.timeZone, after, expected.length), expected);
  });
}

test('a time of day is interpreted in the time zone, in winter and in summer', () => {
  assert.deepEqual(ticks('0 9 15 1,7 *', 'Europe/Berlin', '2027-01-01T00:00:00Z', 2), ['2027-01-15T08:00Z', '2027-07-15T07:00Z']);
  assert.deepEqual(ticks('0 9 * * *', 'Asia/Kolkata', '2027-01-01T00:00:00Z', 1), ['2027-01-01T03:30Z']);
});

test('a time of day that is skipped in spring ticks once, when the clock has jumped', () => {
  // In Berlin on March 28, 2027, two o'clock (01:00 UTC) becomes three o'clock.
  const [before, day] = ['2027-03-27T12:00:00Z', '2027-03-28T01:00Z'];
  assert.deepEqual(ticks('30 2 * * *', 'Europe/Berlin', before, 2), [day, '2027-03-29T00:30Z']);
  assert.deepEqual(ticks('0,30 2 * * *', 'Europe/Berlin', before, 2), [day, '2027-03-29T00:00Z']);
  assert.deepEqual(ticks('0 1-3 * * *', 'Europe/Berlin', before, 3), ['2027-03-28T00:00Z', day, '2027-03-28T23:00Z']);
  // On Lord Howe Island the clock jumps by half an hour.
  assert.deepEqual(ticks('15 2 * * *', 'Australia/Lord_Howe', '2027-10-02T00:00:00Z', 1), ['2027-10-02T15:30Z']);
});

test('a time of day that occurs twice in fall ticks once, the first time', () => {
  // In Berlin on October 31, 2027, three o'clock (01:00 UTC) becomes two o'clock again.
  assert.deepEqual(ticks('30 2 * * *', 'Europe/Berlin', '2027-10-30T12:00:00Z', 2), ['2027-10-31T00:30Z', '2027-11-01T01:30Z']);
  assert.deepEqual(ticks('30 2 * * *', 'Europe/Berlin', '2027-10-31T00:45:00Z', 1), ['2027-11-01T01:30Z']);
});

test('repeating expressions follow elapsed time, even when clocks change', () => {
  for (const after of ['2027-03-28T00:00:00Z', '2027-10-31T00:00:00Z']) {
    let at = Date.parse(after);
    for (let n = 0; n < 16; n++) {
      const next = nextTickMs('*/15 * * * *', 'Europe/Berlin', at);
      assert.equal(next, at + 15 * 60_000);
      at = next;
    }
  }
});

for (const [given, timeZone, expected] of [
  ['  0  9\t* * * ', 'UTC', ['0 9 * * *', 'UTC']],
  ['CRON_TZ=Asia/Tokyo 0 9 * * *', 'UTC', ['0 9 * * *', 'Asia/Tokyo']],
  ['CRON_TZ=America/New_York   0 0 9 * * *', 'UTC', ['0 0 9 * * *', 'America/New_York']],
  ['0 9 * * *', 'europe/berlin', ['0 9 * * *', 'Europe/Berlin']],
  // The runtime knows the time zone by an older name.
  ['0 9 * * *', 'Asia/Kolkata', ['0 9 * * *', 'Asia/Kolkata']],
] as const) {
  test(`parses "${given}" in ${timeZone} as "${expected[0]}" in ${expected[1]}`, () => {
    const parsed = parseCron(given, timeZone);
    assert.ok(parsed.ok);
    assert.deepEqual([parsed.cron, parsed.timeZone], expected);
  });
}

for (const [cron, timeZone, expectedMessage] of [
  ['', 'UTC', /five fields, or six with seconds first.*it is empty/],
  ['CRON_TZ=UTC', 'UTC', /it is empty/],
  ['0 9 * *', 'UTC', /it has 4/],
  ['0 0 9 * * * 2030', 'UTC', /it has 7/],
  ['60 * * * *', 'UTC', /"60" is not a valid minute: use 0 to 59/],
  ['0 24 * * *', 'UTC', /"24" is not a valid hour: use 0 to 23/],
  ['0 0 32 * *', 'UTC', /"32" is not a valid day of the month: use 1 to 31/],
  ['0 0 * FOO *', 'UTC', /"FOO" is not a valid month: use 1 to 12 or JAN to DEC/],
  ['0 0 * * MON#6', 'UTC', /"MON#6" is not a valid day of the week: use 0 to 7/],
  ['99 0 9 * * *', 'UTC', /"99" is not a valid second/],
  ['*/0 * * * *', 'UTC', /"\*\/0" is not a valid minute.*steps/],
  ['5-1 * * * *', 'UTC', /"5-1" is not a valid minute.*a range "1-5"/],
  ['1,,2 * * * *', 'UTC', /"1,,2" is not a valid minute/],
  ['9:00 * * * *', 'UTC', /"9:00" is not a valid minute/],
  ['2027-01-01T09:00:00', 'UTC', /it has 1/],
  ['@reboot', 'UTC', /"@reboot": use one of @yearly/],
  ['0 0 30 2 *', 'UTC', /never matches/],
  ['0 0 31 APR,JUN,SEP,NOV *', 'UTC', /never matches/],
  ['0 0 9 2 +MON#1', 'UTC', /never matches/],
  ['0 9 * * *', 'Mars/Olympus', /unknown time zone "Mars\/Olympus": use an IANA name/],
  ['0 9 * * *', '', /unknown time zone ""/],
  ['0 9 * * *', '+02:00', /unknown time zone "\+02:00"/],
  ['CRON_TZ= 0 9 * * *', 'UTC', /unknown time zone ""/],
  ['CRON_TZ=Berlin 0 9 * * *', 'UTC', /unknown time zone "Berlin"/],
  [`${'1,'.repeat(200)}1 * * * *`, 'UTC', /longer than 256 characters/],
] as const) {
  test(`rejects "${cron.slice(0, 40)}" in "${timeZone}" with a clear message`, () => {
    const parsed = parseCron(cron, timeZone);
    assert.ok(!parsed.ok);
    assert.match(parsed.message, expectedMessage);
  });
}

test('does not depend on the clock or time zone of the machine', (t) => {
  const was = process.env.TZ;
  t.after(() => {
    if (was === undefined) delete process.env.TZ;
    else process.env.TZ = was;
  });
  for (const [machineZone, now] of [
    ['Pacific/Auckland', 0],
    ['America/Los_Angeles', Date.UTC(2900, 0)],
  ] as const) {
    process.env.TZ = machineZone;
    t.mock.timers.enable({ apis: ['Date', 'setTimeout', 'setInterval'], now });
    assert.deepEqual(ticks('30 2 * * *', 'Europe/Berlin', '2027-03-27T12:00:00Z', 1), ['2027-03-28T01:00Z']);
    assert.deepEqual(ticks('0 9 * * *', 'UTC', '2027-01-01T09:00:00Z', 1), ['2027-01-02T09:00Z']);
    t.mock.timers.reset();
  }
});

test('an expression that this runtime can no longer parse has no ticks', () => {
  assert.equal(nextTickMs('0 9 * * *', 'Mars/Olympus', 0), null);
  assert.equal(nextTickMs('0 9 * *', 'UTC', 0), null);
});

test('any expression is accepted or refused, and an accepted one has ticks', () => {
  const piece = fc.constantFrom(
    '*',
    '0',
    '5',
    '12',
    '31',
    '59',
    '60',
    '-',
    '/',
    ',',
    '#',
    'L',
    'W',
    '?',
    '+',
    'MON',
    'FEB',
    ' ',
    ':',
    '@',
  );
  const field = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
  const expression = fc.array(field, { minLength: 4, maxLength: 7 }).map((fields) => fields.join(' '));
  const after = Date.UTC(2027, 2, 27);
  fc.assert(
    fc.property(expression, fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe'), (source, zone) => {
      const parsed = parseCron(source, zone);
      if (!parsed.ok) return assert.ok(parsed.message.length > 0);
      const first = nextTickMs(parsed.cron, parsed.timeZone, after);
      assert.ok(first !== null && first > after, source);
      const second = nextTickMs(parsed.cron, parsed.timeZone, first);
      assert.ok(second !== null && second > first, source);
    }),
    { seed: 7, numRuns: 3000 },
  );
});

test('in UTC the next tick is the first matching minute', () => {
  const values = (min: number, max: number) =>
    fc.oneof(fc.constant(null), fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 4 }));
  const spelled = (list: readonly number[] | null) => list?.join(',') ?? '*';
  const fits = (list: readonly number[] | null, value: number) => list === null || list.includes(value);
  const MINUTE_MS = 60_000;
  fc.assert(
    fc.property(
      values(0, 59),
      values(0, 23),
      values(0, 6),
      fc.integer({ min: 0, max: 1_000_000 }),
      (minutes, hours, weekdays, offset) => {
        const after = Date.UTC(2027, 0) + offset * 1009;
        let expected = Math.floor(after / MINUTE_MS) * MINUTE_MS;
        for (let found = false; !found; ) {
          expected += MINUTE_MS;
          const date = new Date(expected);
          found = fits(minutes, date.getUTCMinutes()) && fits(hours, date.getUTCHours()) && fits(weekdays, date.getUTCDay());
        }
        assert.equal(nextTickMs(`${spelled(minutes)} ${spelled(hours)} * * ${spelled(weekdays)}`, 'UTC', after), expected);
      },
    ),
    { seed: 11, numRuns: 200 },
  );
});
