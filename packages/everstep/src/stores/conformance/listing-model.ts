/**
 * Model of listings: entries with few distinct values, so that filters match many, some or none of them. The tables
 * declare for each field of a filter how to choose its value and which entries match, so a field without a model does not compile.
 */
import assert from 'node:assert/strict';
import type { FailureGroup } from '../../engine/dead-letters/dead-letter-groups.js';
import type { DeadLetter, FailureFunctionState, MessageSettings, Run, RunStatus } from '../../engine/runs/run.js';
import type { CommitUnit, DeadLetterFilter, RunFilter, Store } from '../../ports/stores/store.js';
import { group as groupOfFailure } from './groups/samples.js';
import { creation, failure, INSTANCE, OTHER_INSTANCE, sampleDeadLetter, sampleRun, T0, unit } from './samples.js';

/** Number of entries. They fill more than two blocks of a bitmap index, which have 4,096 rows each. */
export const ENTRY_COUNT = 9000;
const BATCH_SIZE = 500;

export interface ModeledEntry {
  readonly run: Run;
  readonly entry: DeadLetter | null;
  /** Group of the entry, if it has one. */
  readonly group: FailureGroup | null;
  status: RunStatus;
  isTaken: boolean;
}

export type RandomInteger = (below: number) => number;

export const pick = <Value>(values: readonly Value[], numbers: RandomInteger): Value => {
  const value = values[numbers(values.length)];
  assert.ok(value !== undefined);
  return value;
};

const STATES: readonly (FailureFunctionState | null)[] = [null, 'CALLBACK_INPROGRESS', 'CALLBACK_SUCCESS', 'CALLBACK_FAIL'];
const IPS = ['192.0.2.1', '192.0.2.2', '2001:db8::1'];
const FLOW_CONTROL_KEYS = ['tenant/1', 'tenant/2', 'rare'];
const LABELS = ['first-half', 'second-half', 'one-in-three', 'rare', 'with, comma'];
const QUEUES = ['mails', 'bills'];
const URL_GROUPS = ['all', 'some'];
const ERRORS = ['out of stock', 'card declined', 'address unknown'];
const RESPONSE_STATUSES: readonly (number | null)[] = [500, 404, null];
const urlOf = (n: number) => (n % 7 === 6 ? `worker://app-6/flows/${n % 11}` : `http://app-${n % 7}.example/flows/${n % 11}`);

/**
 * Returns the settings of a message, or null for a workflow run. One entry in four is a message. Messages and runs are listed
 * separately, their dead letters together.
 */
function messageOf(n: number): MessageSettings | null {
  if (n % 4 !== 1) return null;
  return {
    method: 'POST',
    ...(n % 8 === 1 ? { queue: QUEUES[n % 3] ?? 'rare' } : {}),
    ...(n % 16 === 5 ? { urlGroup: URL_GROUPS[n % 5] ?? 'rare', endpointName: 'one' } : {}),
    ...(n % 32 === 13 ? { scheduleId: `sch_${n % 3}` } : {}),
  };
}

/**
 * Returns entry number `n`. Two labels alternate between entries. One flow control key is on the first half of the entries, and
 * another one on the second half. Some values are rare, and some do not occur.
 */
function modelEntry(n: number, numbers: RandomInteger): ModeledEntry {
  const labels = [n % 2 === 0 ? 'first-half' : 'second-half'];
  if (n % 3 === 0) labels.push('one-in-three');
  if (numbers(1000) === 0) labels.push('rare', 'with, comma');
  const flowControlKey = n < ENTRY_COUNT / 2 ? 'tenant/1' : 'tenant/2';
  const message = messageOf(n);
  const run = sampleRun(n, {
    instanceId: n % 50 === 49 ? OTHER_INSTANCE : INSTANCE,
    workflowRunId: n % 10 === 0 ? 'daily' : `${pick(['order-eu', 'order-us', 'wfr'], numbers)}-${numbers(2000)}`,
    // Some runs have an earlier creation time than the run before them.
    createdAt: T0 + n * 10 - (n % 97 === 0 ? numbers(500) : 0),
    workflowUrl: urlOf(numbers(1000)),
    callerIp: pick(IPS, numbers),
    settings: {
      labels,
      flowControl: n % 5 === 0 ? null : { key: numbers(2000) === 0 ? 'rare' : flowControlKey },
      ...(message ? { message } : {}),
    },
  });
  const hasFailed = numbers(10) < 8;
  const entry = hasFailed
    ? sampleDeadLetter(run, {
        createdAt: run.createdAt + 5000 + numbers(20),
        failureFunctionState: pick(STATES, numbers),
        responseStatus: pick(RESPONSE_STATUSES, numbers),
      })
    : null;
  // Entries of earlier versions have no group.
  const group = hasFailed && n % 3 === 0 ? groupOfError(pick(ERRORS, numbers), run) : null;
  return {
    run,
    entry,
    group,
    status: hasFailed ? 'failed' : pick(['active', 'succeeded', 'canceled'], numbers),
    isTaken: false,
  };
}

function unitOf({ run, entry, group, status }: ModeledEntry): CommitUnit {
  if (entry) return unit([creation(run), ...failure(run, entry, group)]);
  if (status === 'active' || status === 'failed') return unit([creation(run)]);
  const outcome = status === 'succeeded' ? ({ status, result: null } as const) : ({ status: 'canceled' } as const);
  return unit([creation(run), { kind: 'end-run', runKey: run.key, outcome, completedAt: run.createdAt + 1 }]);
}

export async function fillStore(store: Store, numbers: RandomInteger): Promise<readonly ModeledEntry[]> {
  const model = Array.from({ length: ENTRY_COUNT }, (_, n) => modelEntry(n, numbers));
  for (let start = 0; start < model.length; start += BATCH_SIZE)
    await store.commit(model.slice(start, start + BATCH_SIZE).map(unitOf));
  // Some entries are taken, individually and in ranges, so that whole blocks lose members.
  const takenEntries = model.filter(({ entry }, n) => entry !== null && (n % 13 === 0 || (n > 3000 && n < 3300)));
  const takes = takenEntries.map((item) => {
    item.isTaken = true;
    return unit([
      { kind: 'take-dead-letter', instanceId: item.run.instanceId, dlqId: item.entry?.dlqId ?? '', recoveredAs: null },
    ]);
  });
  for (const result of await store.commit(takes)) assert.equal(result.kind, 'applied');
  return model;
}

const setsByValues = new WeakMap<readonly unknown[], ReadonlySet<unknown>>();

/** Returns the values of one filter as a set. It is created once, because every entry is compared with it. */
function setOf(values: readonly unknown[]): ReadonlySet<unknown> {
  const valueSet = setsByValues.get(values) ?? new Set(values);
  setsByValues.set(values, valueSet);
  return valueSet;
}

const has = <Value>(values: readonly Value[], value: Value) => setOf(values).has(value);
const hasAny = <Value>(values: readonly Value[], ownValues: readonly Value[]) => ownValues.some((value) => has(values, value));
const flowControlKeysOf = (run: Run) => (run.settings.flowControl ? [run.settings.flowControl.key] : []);

const kindOf = ({ settings }: Run) => (settings.message ? 'message' : 'workflow');
const valuesOf = (value: string | undefined) => (value === undefined ? [] : [value]);
const groupOfError = (message: string, run: Run): FailureGroup => groupOfFailure(message, run.workflowUrl, kindOf(run));

interface Field<Value> {
  /** One in this many filters has the field. Fields without it are special; a filter has at most one special field. */
  readonly oneIn?: number;
  readonly choose: (numbers: RandomInteger, model: readonly ModeledEntry[]) => Value;
  readonly matches: (value: Value, item: ModeledEntry) => boolean;
}
type Fields<Filter> = { readonly [Name in keyof Filter]-?: Field<NonNullable<Filter[Name]>> };

const pickSome = <Value>(values: readonly Value[], numbers: RandomInteger) =>
  Array.from({ length: 1 + numbers(2) }, () => pick(values, numbers));
const anyTime = (numbers: RandomInteger): number => T0 + numbers(ENTRY_COUNT * 10);
const oneOf =
  <Value>(values: readonly Value[]) =>
  (numbers: RandomInteger): Value =>
    pick(values, numbers);
const severalOf =
  <Value>(values: readonly Value[]) =>
  (numbers: RandomInteger): readonly Value[] =>
    pickSome(values, numbers);

const SHARED_FIELDS: Fields<
  Pick<
    RunFilter & DeadLetterFilter,
    'workflowRunId' | 'workflowUrls' | 'labels' | 'flowControlKeys' | 'callerIps' | 'queues' | 'urlGroups' | 'scheduleIds'
  >
> = {
  workflowUrls: {
    oneIn: 3,
    choose: (numbers) => Array.from({ length: 1 + numbers(20) }, () => urlOf(numbers(1000))),
    matches: (values, { run }) => has(values, run.workflowUrl),
  },
  labels: {
    oneIn: 3,
    choose: severalOf([...LABELS, 'unused']),
    matches: (values, { run }) => hasAny(values, run.settings.labels),
  },
  flowControlKeys: {
    oneIn: 4,
    choose: severalOf(FLOW_CONTROL_KEYS),
    matches: (values, { run }) => hasAny(values, flowControlKeysOf(run)),
  },
  callerIps: { oneIn: 4, choose: severalOf(IPS), matches: (values, { run }) => has(values, run.callerIp) },
  workflowRunId: {
    oneIn: 12,
    choose: (numbers, model) => pick(model, numbers).run.workflowRunId,
    matches: (workflowRunId, { run }) => workflowRunId === run.workflowRunId,
  },
  queues: {
    choose: severalOf([...QUEUES, 'rare']),
    matches: (values, { run }) => hasAny(values, valuesOf(run.settings.message?.queue)),
  },
  urlGroups: {
    choose: severalOf([...URL_GROUPS, 'unused']),
    matches: (values, { run }) => hasAny(values, valuesOf(run.settings.message?.urlGroup)),
  },
  scheduleIds: {
    choose: () => ['sch_1'],
    matches: (values, { run }) => hasAny(values, valuesOf(run.settings.message?.scheduleId)),
  },
};

const DEAD_LETTER_FIELDS: Fields<DeadLetterFilter> = {
  ...SHARED_FIELDS,
  fromDate: { oneIn: 5, choose: anyTime, matches: (from, { entry }) => (entry?.createdAt ?? 0) >= from },
  toDate: { oneIn: 5, choose: anyTime, matches: (to, { entry }) => (entry?.createdAt ?? 0) <= to },
  kind: { choose: oneOf(['workflow', 'message']), matches: (kind, { run }) => kind === kindOf(run) },
  responseStatuses: { choose: () => [404, 503], matches: (values, { entry }) => has(values, entry?.responseStatus) },
  failureFunctionStates: {
    choose: () => ['CALLBACK_INPROGRESS', 'CALLBACK_CANCELED'],
    matches: (values, { entry }) => has(values, entry?.failureFunctionState),
  },
  fingerprints: {
    choose: (numbers, model) => [...pickSome(model, numbers).map(({ group }) => group?.fingerprint ?? 'none')],
    matches: (values, { group }) => has(values, group?.fingerprint),
  },
  workflowRunIdPrefix: {
    choose: oneOf(['order-', 'order-e', 'order-us-1', 'd', 'wfr-19', 'none', '']),
    matches: (prefix, { run }) => run.workflowRunId.startsWith(prefix),
  },
  workflowCreatedAt: {
    choose: (numbers, model) => pick(model, numbers).run.createdAt,
    matches: (at, { run }) => at === run.createdAt,
  },
  dlqIds: {
    choose: (numbers, model) => ['dlq_none', ...model.filter(() => numbers(100) === 0).map(({ run }) => `dlq_${run.key}`)],
    matches: (values, { entry }) => has(values, entry?.dlqId),
  },
};

const RUN_FIELDS: Fields<RunFilter> = {
  ...SHARED_FIELDS,
  kind: { oneIn: 3, choose: () => 'message', matches: (kind, { run }) => kind === kindOf(run) },
  fromDate: { oneIn: 5, choose: anyTime, matches: (from, { run }) => run.createdAt >= from },
  toDate: { oneIn: 5, choose: anyTime, matches: (to, { run }) => run.createdAt <= to },
  statuses: {
    choose: (numbers) => ['active', pick(['succeeded', 'failed', 'canceled'] as const, numbers)],
    matches: (values, { status }) => has(values, status),
  },
  workflowUrlPrefix: {
    choose: oneOf(['http://app-1', 'http://app-3.example/flows/1', 'https', '']),
    matches: (prefix, { run }) => run.workflowUrl.startsWith(prefix),
  },
  createdAt: { choose: (numbers, model) => pick(model, numbers).run.createdAt, matches: (at, { run }) => at === run.createdAt },
  runKeys: {
    choose: (numbers, model) => ['none', ...model.filter(() => numbers(100) === 0).map(({ run }) => run.key)],
    matches: (values, { run }) => has(values, run.key),
  },
};

const namesOf = <Filter>(fields: Fields<Filter>): readonly (keyof Filter)[] =>
  // The table has exactly the fields of the filter.
  Object.keys(fields) as (keyof Filter & string)[];

function randomFilter<Filter>(fields: Fields<Filter>, numbers: RandomInteger, model: readonly ModeledEntry[]): Filter {
  const names = namesOf(fields);
  const specialName = pick(
    names.filter((name) => fields[name].oneIn === undefined),
    numbers,
  );
  const hasSpecial = numbers(4) !== 0;
  const chosenNames = names.filter((name) => {
    const { oneIn } = fields[name];
    return oneIn === undefined ? hasSpecial && name === specialName : numbers(oneIn) === 0;
  });
  // Each value was chosen by the field of the same name.
  return Object.fromEntries(chosenNames.map((name) => [name, fields[name].choose(numbers, model)])) as Filter;
}

function matchesField<Filter, Name extends keyof Filter>(fields: Fields<Filter>, name: Name, filter: Filter, item: ModeledEntry) {
  const value = filter[name];
  return value === undefined || value === null || fields[name].matches(value, item);
}
const matches = <Filter>(fields: Fields<Filter>, filter: Filter, item: ModeledEntry): boolean =>
  namesOf(fields).every((name) => matchesField(fields, name, filter, item));

export const deadLetterFilter = (numbers: RandomInteger, model: readonly ModeledEntry[]): DeadLetterFilter =>
  randomFilter<DeadLetterFilter>(DEAD_LETTER_FIELDS, numbers, model);

export const matchesDeadLetter = (filter: DeadLetterFilter, item: ModeledEntry): boolean =>
  item.entry !== null && !item.isTaken && matches<DeadLetterFilter>(DEAD_LETTER_FIELDS, filter, item);

export function runFilter(numbers: RandomInteger, model: readonly ModeledEntry[]): RunFilter {
  const { workflowRunId, ...filter } = randomFilter<RunFilter>(RUN_FIELDS, numbers, model);
  // Only workflow runs are found by their ids.
  return filter.kind === 'message' || workflowRunId === undefined ? filter : { ...filter, workflowRunId };
}

export const matchesRun = (filter: RunFilter, item: ModeledEntry): boolean =>
  matches<RunFilter>(RUN_FIELDS, { ...filter, kind: filter.kind ?? 'workflow' }, item);
