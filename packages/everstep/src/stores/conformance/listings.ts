/**
 * Listings against a model: many entries with few distinct values, so that
 * every filter meets many, some or none, and the plain answer is computed by
 * looking at each. The seeds are fixed; a failure shows the query.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DeadLetter, FailureFunctionState, MessageSettings, Run, RunStatus } from '../../engine/runs/run.js';
import type { CommitUnit, DeadLetterFilter, Listing, Page, RunFilter, Store } from '../../ports/stores/store.js';
import { type OpenStore, withStore } from './harness.js';
import {
  apply,
  creation,
  failure,
  INSTANCE,
  OTHER_INSTANCE,
  sampleDeadLetter,
  sampleRun,
  seededNumbers,
  T0,
  unit,
} from './samples.js';

/** More than two blocks of any bitmap index of 4,096 rows. */
const ENTRIES = 9000;
const BATCH = 500;
const QUERIES = 150;
/** Pages of one answer. Further ones repeat what these show, and take most of the time. */
const PAGES_MAX = 12;

interface Modelled {
  readonly run: Run;
  readonly url: URL;
  readonly entry: DeadLetter | null;
  status: RunStatus;
  taken: boolean;
}

type Numbers = (below: number) => number;

const pick = <Value>(values: readonly Value[], numbers: Numbers): Value => {
  const value = values[numbers(values.length)];
  assert.ok(value !== undefined);
  return value;
};

const STATES: readonly (FailureFunctionState | null)[] = [null, 'CALLBACK_INPROGRESS', 'CALLBACK_SUCCESS', 'CALLBACK_FAIL'];
const IPS = ['192.0.2.1', '192.0.2.2', '2001:db8::1'];
const KEYS = ['tenant/1', 'tenant/2', 'rare'];
const LABELS = ['first-half', 'second-half', 'one-in-three', 'rare', 'with, comma'];
const QUEUES = ['mails', 'bills'];
const GROUPS = ['everybody', 'some'];
const RESPONSES: readonly (number | null)[] = [500, 404, null];
const urlOf = (n: number) => `http://app-${n % 7}.example/flows/${n % 11}`;

/** One in four is a plain message; they are listed by themselves, but for the dead letters of both. */
function messageOf(n: number): MessageSettings | null {
  if (n % 4 !== 1) return null;
  return {
    method: 'POST',
    ...(n % 8 === 1 ? { queue: QUEUES[n % 3] ?? 'rare' } : {}),
    ...(n % 16 === 5 ? { urlGroup: GROUPS[n % 5] ?? 'rare', endpointName: 'one' } : {}),
    ...(n % 32 === 13 ? { scheduleId: `sch_${n % 3}` } : {}),
  };
}

/** Half of the entries exclude the other half, in turns and in stretches; some values are rare, some absent. */
function modelEntry(n: number, numbers: Numbers): Modelled {
  const labels = [n % 2 === 0 ? 'first-half' : 'second-half'];
  if (n % 3 === 0) labels.push('one-in-three');
  if (numbers(1000) === 0) labels.push('rare', 'with, comma');
  const keyed = n < ENTRIES / 2 ? 'tenant/1' : 'tenant/2';
  const message = messageOf(n);
  const run = sampleRun(n, {
    instanceId: n % 50 === 49 ? OTHER_INSTANCE : INSTANCE,
    workflowRunId: n % 10 === 0 ? 'daily' : `${pick(['order-eu', 'order-us', 'wfr'], numbers)}-${numbers(2000)}`,
    // Now and then the clock of a creation is behind that of an earlier one.
    createdAt: T0 + n * 10 - (n % 97 === 0 ? numbers(500) : 0),
    workflowUrl: urlOf(numbers(1000)),
    callerIp: pick(IPS, numbers),
    settings: {
      labels,
      flowControl: n % 5 === 0 ? null : { key: numbers(2000) === 0 ? 'rare' : keyed },
      ...(message ? { message } : {}),
    },
  });
  const failed = numbers(10) < 8;
  const entry = failed
    ? sampleDeadLetter(run, {
        createdAt: run.createdAt + 5000 + numbers(20),
        failureFunctionState: pick(STATES, numbers),
        responseStatus: pick(RESPONSES, numbers),
      })
    : null;
  const url = new URL(run.workflowUrl);
  return { run, url, entry, status: failed ? 'failed' : pick(['active', 'succeeded', 'canceled'], numbers), taken: false };
}

function unitOf({ run, entry, status }: Modelled): CommitUnit {
  if (entry) return unit([creation(run), ...failure(run, entry)]);
  if (status === 'active' || status === 'failed') return unit([creation(run)]);
  const outcome = status === 'succeeded' ? ({ status, result: null } as const) : ({ status: 'canceled' } as const);
  return unit([creation(run), { kind: 'end-run', runKey: run.key, outcome, completedAt: run.createdAt + 1 }]);
}

async function fill(store: Store, numbers: Numbers): Promise<readonly Modelled[]> {
  const model = Array.from({ length: ENTRIES }, (_, n) => modelEntry(n, numbers));
  for (let at = 0; at < model.length; at += BATCH) await store.commit(model.slice(at, at + BATCH).map(unitOf));
  // Some are taken, singly and in stretches, so that whole blocks lose members.
  const taken = model.filter(({ entry }, n) => entry !== null && (n % 13 === 0 || (n > 3000 && n < 3300)));
  const takes = taken.map((item) => {
    item.taken = true;
    return unit([{ kind: 'take-dead-letter', instanceId: item.run.instanceId, dlqId: item.entry?.dlqId ?? '', became: null }]);
  });
  for (const result of await store.commit(takes)) assert.equal(result.kind, 'applied');
  return model;
}

const sets = new WeakMap<readonly unknown[], ReadonlySet<unknown>>();

/** The values of one part of a filter as a set, made once: every entry is compared with them. */
function setOf(wanted: readonly unknown[]): ReadonlySet<unknown> {
  const known = sets.get(wanted) ?? new Set(wanted);
  sets.set(wanted, known);
  return known;
}

const has = <Value>(wanted: readonly Value[] | undefined, value: Value) => wanted === undefined || setOf(wanted).has(value);
const hasAny = <Value>(wanted: readonly Value[] | undefined, values: readonly Value[]) =>
  wanted === undefined || values.some((value) => has(wanted, value));
const same = <Value>(wanted: Value | undefined, value: Value) => wanted === undefined || wanted === value;
const within = (from: number | undefined, to: number | undefined, at: number) =>
  (from === undefined || at >= from) && (to === undefined || at <= to);
const keysOf = (run: Run) => (run.settings.flowControl ? [run.settings.flowControl.key] : []);

const kindOf = ({ settings }: Run) => (settings.message ? 'message' : 'workflow');
const valuesOf = (value: string | undefined) => (value === undefined ? [] : [value]);

const matchesMessage = (
  filter: Pick<RunFilter, 'queues' | 'urlGroups' | 'scheduleIds'>,
  { queue, urlGroup, scheduleId }: Partial<MessageSettings> = {},
): boolean =>
  hasAny(filter.queues, valuesOf(queue)) &&
  hasAny(filter.urlGroups, valuesOf(urlGroup)) &&
  hasAny(filter.scheduleIds, valuesOf(scheduleId));

const matchesRun = (filter: RunFilter, { run, url, status }: Modelled): boolean =>
  kindOf(run) === (filter.kind ?? 'workflow') &&
  has(filter.runKeys, run.key) &&
  has(filter.hosts, url.host) &&
  has(filter.paths, url.pathname) &&
  matchesMessage(filter, run.settings.message) &&
  same(filter.workflowRunId, run.workflowRunId) &&
  same(filter.createdAt, run.createdAt) &&
  has(filter.workflowUrls, run.workflowUrl) &&
  run.workflowUrl.startsWith(filter.workflowUrlPrefix ?? '') &&
  has(filter.statuses, status) &&
  has(filter.callerIps, run.callerIp) &&
  hasAny(filter.labels, run.settings.labels) &&
  hasAny(filter.flowControlKeys, keysOf(run)) &&
  within(filter.fromDate, filter.toDate, run.createdAt);

const matchesDeadLetter = (filter: DeadLetterFilter, { run, entry, taken }: Modelled): boolean =>
  entry !== null &&
  !taken &&
  same(filter.kind, kindOf(run)) &&
  hasAny(filter.responseStatuses, entry.responseStatus === null ? [] : [entry.responseStatus]) &&
  matchesMessage(filter, run.settings.message) &&
  has(filter.dlqIds, entry.dlqId) &&
  same(filter.workflowRunId, run.workflowRunId) &&
  run.workflowRunId.startsWith(filter.workflowRunIdPrefix ?? '') &&
  same(filter.workflowCreatedAt, run.createdAt) &&
  has(filter.workflowUrls, run.workflowUrl) &&
  (filter.failureFunctionStates === undefined ||
    (entry.failureFunctionState !== null && filter.failureFunctionStates.includes(entry.failureFunctionState))) &&
  has(filter.callerIps, run.callerIp) &&
  hasAny(filter.labels, run.settings.labels) &&
  hasAny(filter.flowControlKeys, keysOf(run)) &&
  within(filter.fromDate, filter.toDate, entry.createdAt);

/** Each part of the filter is there now and then. */
function commonFilter(numbers: Numbers, model: readonly Modelled[]) {
  const sometimes = <Part>(oneIn: number, part: () => Part): Part | Record<string, never> => (numbers(oneIn) === 0 ? part() : {});
  const some = <Value>(values: readonly Value[]) => Array.from({ length: 1 + numbers(2) }, () => pick(values, numbers));
  return {
    ...sometimes(3, () => ({ workflowUrls: Array.from({ length: 1 + numbers(20) }, () => urlOf(numbers(1000))) })),
    ...sometimes(3, () => ({ labels: some([...LABELS, 'nobody has this']) })),
    ...sometimes(4, () => ({ flowControlKeys: some(KEYS) })),
    ...sometimes(4, () => ({ callerIps: some(IPS) })),
    ...sometimes(5, () => ({ fromDate: T0 + numbers(ENTRIES * 10) })),
    ...sometimes(5, () => ({ toDate: T0 + numbers(ENTRIES * 10) })),
    ...sometimes(12, () => ({ workflowRunId: pick(model, numbers).run.workflowRunId })),
  };
}

const messageFilter = (numbers: Numbers) =>
  pick(
    [
      {},
      { queues: [pick([...QUEUES, 'rare'], numbers)] },
      { urlGroups: [pick([...GROUPS, 'nobody'], numbers)] },
      { scheduleIds: ['sch_1'] },
    ],
    numbers,
  );

function deadLetterFilter(numbers: Numbers, model: readonly Modelled[]): DeadLetterFilter {
  const common = commonFilter(numbers, model);
  switch (numbers(9)) {
    case 6:
      return { ...common, kind: 'message', ...messageFilter(numbers) };
    case 7:
      return { ...common, kind: 'workflow' };
    case 8:
      return { ...common, responseStatuses: [404, 503] };
    case 0:
      return { ...common, failureFunctionStates: ['CALLBACK_INPROGRESS', 'CALLBACK_CANCELED'] };
    case 1:
      return { ...common, workflowRunIdPrefix: pick(['order-', 'order-e', 'order-us-1', 'd', 'wfr-19', 'none', ''], numbers) };
    case 2:
      return { ...common, workflowCreatedAt: pick(model, numbers).run.createdAt };
    case 3:
      return { ...common, dlqIds: ['dlq_none', ...model.filter(() => numbers(100) === 0).map(({ run }) => `dlq_${run.key}`)] };
    default:
      return common;
  }
}

function messageRunFilter(numbers: Numbers, model: readonly Modelled[], common: RunFilter): RunFilter {
  const { workflowRunId: _id, ...rest } = common;
  const filter = { ...rest, ...messageFilter(numbers), kind: 'message' } as const;
  switch (numbers(5)) {
    case 0:
      return { ...filter, runKeys: ['none', ...model.filter(() => numbers(100) === 0).map(({ run }) => run.key)] };
    case 1:
      return { ...filter, hosts: ['app-1.example', 'app-2.example'], paths: ['/flows/3'] };
    case 2:
      return { ...filter, statuses: ['active', 'failed'] };
    default:
      return filter;
  }
}

function runFilter(numbers: Numbers, model: readonly Modelled[]): RunFilter {
  const common = commonFilter(numbers, model);
  if (numbers(3) === 0) return messageRunFilter(numbers, model, common);
  switch (numbers(6)) {
    case 0:
      return { ...common, statuses: ['active', pick(['succeeded', 'failed', 'canceled'], numbers)] };
    case 1:
      return { ...common, workflowUrlPrefix: pick(['http://app-1', 'http://app-3.example/flows/1', 'https', ''], numbers) };
    case 2:
      return { ...common, createdAt: pick(model, numbers).run.createdAt };
    case 3:
      return { ...common, hosts: ['app-1.example', 'app-2.example'], paths: ['/flows/3'], ...messageFilter(numbers) };
    default:
      return common;
  }
}

/** Follows a listing to its end, and checks that each page but the last is full. */
async function everyPage<Filter, Item>(
  list: (page: Page<Filter>) => Promise<Listing<Item>>,
  first: Page<Filter>,
): Promise<Item[]> {
  const items: Item[] = [];
  for (let page = first; ; ) {
    const { items: some, next } = await list(page);
    items.push(...some);
    if (next === null) return items;
    assert.equal(some.length, page.limit);
    assert.match(next, /^[\x21-\x7e]{1,64}$/);
    page = { ...page, after: next };
    // Were nothing behind the last place, it should have been null.
    assert.ok(items.length <= ENTRIES);
  }
}

const leastLimit = (expected: readonly unknown[]) => Math.max(1, Math.ceil(expected.length / PAGES_MAX));

export function listingConformance(open: OpenStore): void {
  describe('listings', () => {
    test(
      'every filter, order and page size gives what looking at each entry gives',
      withStore(open, async (store) => {
        const numbers = seededNumbers(2);
        const model = await fill(store, numbers);
        const oldestFirst = model.filter(({ run }) => run.instanceId === INSTANCE);
        const newestFirst = oldestFirst.toReversed();
        let matched = 0;
        for (let query = 0; query < QUERIES; query++) {
          const order = query % 2 === 0 ? 'newest-first' : 'oldest-first';
          const base = { instanceId: INSTANCE, order, after: null, horizon: null } as const;
          const mine = order === 'newest-first' ? newestFirst : oldestFirst;

          const deadFilter = deadLetterFilter(numbers, model);
          const expectedIds = mine.filter((item) => matchesDeadLetter(deadFilter, item)).map(({ entry }) => entry?.dlqId);
          const limit = pick([1, 7, 100, expectedIds.length, expectedIds.length - 1], numbers);
          const deadPage = { ...base, filter: deadFilter, limit: Math.max(limit, leastLimit(expectedIds)) };
          assert.deepEqual(
            await everyPage((page) => store.listDeadLetterIds(page), deadPage),
            expectedIds,
            JSON.stringify(deadPage),
          );

          const runsFilter = runFilter(numbers, model);
          const expectedKeys = mine.filter((item) => matchesRun(runsFilter, item)).map(({ run }) => run.key);
          const runPage = { ...base, filter: runsFilter, limit: pick([10, 1000], numbers) };
          const texts = await store.listSearchableRuns(runPage);
          assert.deepEqual(
            texts.items.map(({ runKey }) => runKey),
            expectedKeys.slice(0, runPage.limit),
            JSON.stringify(runPage),
          );
          assert.equal(texts.next, expectedKeys.length > runPage.limit ? texts.items.at(-1)?.position : null);
          if (expectedKeys.length < 1500) {
            const allPages = { ...runPage, limit: Math.max(runPage.limit, leastLimit(expectedKeys)) };
            const found = (await everyPage((page) => store.listRuns(page), allPages)).map(({ key }) => key);
            assert.deepEqual(found, expectedKeys, JSON.stringify(allPages));
          } else {
            const found = await store.listRuns(runPage);
            assert.deepEqual(
              found.items.map(({ key }) => key),
              expectedKeys.slice(0, runPage.limit),
              JSON.stringify(runPage),
            );
          }
          matched += Math.sign(expectedIds.length) + Math.sign(expectedKeys.length);
        }
        assert.ok(matched > QUERIES / 2, `only ${matched} queries found something`);
      }),
    );

    test(
      'pages neither skip nor repeat while entries arrive and are taken',
      withStore(open, async (store) => {
        const runs = Array.from({ length: 30 }, (_, n) => sampleRun(n));
        await store.commit(runs.map((run) => unit([creation(run), ...failure(run)])));
        for (const order of ['newest-first', 'oldest-first'] as const) {
          const horizon = await store.deadLetterHorizon({ instanceId: INSTANCE });
          const present = await everyPage((page) => store.listDeadLetterIds(page), {
            instanceId: INSTANCE,
            filter: {},
            order,
            after: null,
            horizon,
            limit: 100,
          });
          const seen: string[] = [];
          let after: string | null = null;
          for (let n = 0; ; n++) {
            const page: Listing<string> = await store.listDeadLetterIds({
              instanceId: INSTANCE,
              filter: {},
              order,
              after,
              horizon,
              limit: 4,
            });
            seen.push(...page.items);
            if (page.next === null) break;
            after = page.next;
            // One arrives and the last one seen is taken.
            const late = sampleRun(1000 + n + (order === 'newest-first' ? 0 : 100));
            await apply(store, [creation(late), ...failure(late)]);
            await apply(store, [
              { kind: 'take-dead-letter', instanceId: INSTANCE, dlqId: page.items.at(-1) ?? '', became: null },
            ]);
          }
          assert.deepEqual(seen, present);
        }
      }),
    );

    test(
      'a run listing leaves out what was created behind its horizon',
      withStore(open, async (store) => {
        await apply(store, [creation(sampleRun(1))]);
        const horizon = await store.runHorizon({ instanceId: INSTANCE });
        await apply(store, [creation(sampleRun(2))]);
        const page = { instanceId: INSTANCE, filter: {}, order: 'newest-first', after: null, horizon, limit: 5 } as const;
        assert.deepEqual(
          (await store.listRuns(page)).items.map(({ key }) => key),
          [sampleRun(1).key],
        );
      }),
    );

    test(
      'a filter with an empty list of values, or an instance without data, finds nothing',
      withStore(open, async (store) => {
        const run = sampleRun(1);
        await apply(store, [creation(run), ...failure(run)]);
        const page = { instanceId: INSTANCE, order: 'newest-first', after: null, horizon: null, limit: 5 } as const;
        const nothing = { items: [], next: null };
        assert.deepEqual(await store.listDeadLetters({ ...page, filter: { labels: [] } }), nothing);
        assert.deepEqual(await store.listDeadLetters({ ...page, filter: { dlqIds: [] } }), nothing);
        assert.deepEqual(await store.listRuns({ ...page, filter: { statuses: [] } }), nothing);
        assert.deepEqual(await store.listRuns({ ...page, instanceId: 'qi_unknown', filter: {} }), nothing);
        assert.deepEqual(await store.listDeadLetterIds({ ...page, instanceId: 'qi_unknown', filter: {} }), nothing);
      }),
    );

    test(
      'what is no place in a listing, or no page size, is refused',
      withStore(open, async (store) => {
        await apply(store, [creation(sampleRun(1))]);
        const page = { instanceId: INSTANCE, filter: {}, order: 'newest-first', after: null, horizon: null, limit: 5 } as const;
        for (const wrong of [{ after: 'x' }, { after: '' }, { horizon: '-1' }, { limit: 0 }, { limit: 1.5 }]) {
          await assert.rejects(store.listRuns({ ...page, ...wrong }), RangeError, JSON.stringify(wrong));
        }
      }),
    );
  });
}
