/** Sample runs, steps and tasks for the conformance tests, with ordinary values that a test can override. */

import assert from 'node:assert/strict';
import type { CallSpec, InvokeSpec } from '@everstep/sdk/protocol';
import type { FailureGroup } from '../../engine/dead-letters/dead-letter-groups.js';
import type { StoredExchange } from '../../engine/runs/exchanges.js';
import {
  CALLBACK_SLOT,
  type DeadLetter,
  type FailedAttempt,
  type KeptEvent,
  type RecordedStep,
  type Run,
  type RunIdentity,
  type RunPayload,
  type RunSettings,
  type Task,
} from '../../engine/runs/run.js';
import type { CommitUnit, RunHistory, Store, StoreGuard, StoreWrite } from '../../ports/stores/store.js';

export const T0 = 1_800_000_000_000;
export const INSTANCE = 'qi_one';
export const OTHER_INSTANCE = 'qi_two';

export const SETTINGS: RunSettings = {
  maxRetries: 3,
  retryDelay: null,
  deliveryTimeoutMs: 60_000,
  labels: [],
  flowControl: null,
  failureCallback: null,
};

export const PAYLOAD: RunPayload = {
  body: new Uint8Array([0, 1, 254, 255]),
  contentType: 'application/octet-stream',
  forwardHeaders: { 'x-customer': '7' },
};

/** Returns a run with no recorded steps and no tasks. Keys are in order of `n`. */
export function sampleRun(n: number, overrides: Partial<RunIdentity> & { readonly settings?: Partial<RunSettings> } = {}): Run {
  const { settings, ...identity } = overrides;
  return {
    key: `KEY${String(n).padStart(10, '0')}`,
    instanceId: INSTANCE,
    workflowRunId: `wfr_${n}`,
    createdAt: T0 + n,
    dialect: 'native',
    workflowUrl: 'http://app.example/order',
    callerIp: '192.0.2.1',
    origin: null,
    ...identity,
    settings: { ...SETTINGS, ...settings },
    status: 'active',
    nextStepId: 1,
    journalLength: 0,
    journalBytes: 0,
    replayedLength: 0,
    version: 0,
    tasks: new Map(),
    keptEvents: [],
    hasFailureFunction: false,
  };
}

export function sampleStep(index: number, overrides: Partial<RecordedStep> = {}): RecordedStep {
  return {
    index,
    stepId: index + 1,
    name: `step ${index}`,
    type: 'Run',
    out: JSON.stringify({ index }),
    messageId: `msg_${index}`,
    group: index + 1,
    concurrent: 1,
    createdAt: T0 + index,
    completedAt: T0 + index + 1,
    ...(index % 2 === 0 ? { startedAt: T0 + index } : {}),
    sleepMs: null,
    wakeAt: null,
    ...overrides,
  };
}

type TaskOf<Kind extends Task['kind']> = Extract<Task, { readonly kind: Kind }>;

export const advanceTask = (dueAt: number | null, slot = 0): Task => ({
  kind: 'advance',
  slot,
  messageId: `msg_advance_${slot}`,
  dueAt,
  createdAt: T0,
  retried: 0,
});

export const stepTask = (slot: number, dueAt: number | null): Task => ({
  kind: 'step',
  slot,
  messageId: `msg_task_${slot}`,
  dueAt,
  createdAt: T0,
  retried: 1,
  name: `step ${slot}`,
  group: 1,
  concurrent: 2,
});

export const sleepTask = (slot: number, dueAt: number | null, wakeAt: number): Task => ({
  kind: 'sleep',
  slot,
  messageId: `msg_sleep_${slot}`,
  dueAt,
  createdAt: T0,
  name: `nap ${slot}`,
  group: slot,
  concurrent: 1,
  stepType: 'SleepFor',
  sleepMs: 5000,
  wakeAt,
});

export const waitTask = (
  slot: number,
  dueAt: number | null,
  eventIds: readonly string[],
  deadlineAt = T0 + 60_000,
): TaskOf<'wait'> => ({
  kind: 'wait',
  slot,
  messageId: `msg_wait_${slot}`,
  dueAt,
  createdAt: T0,
  name: `wait ${slot}`,
  group: slot,
  concurrent: 1,
  stepType: 'Wait',
  eventIds,
  deadlineAt,
});

export const callTask = (slot: number, dueAt: number | null, call: Partial<CallSpec> = {}): TaskOf<'call'> => ({
  kind: 'call',
  slot,
  messageId: `msg_call_${slot}`,
  dueAt,
  createdAt: T0,
  retried: 2,
  name: `call ${slot}`,
  group: slot,
  concurrent: 1,
  call: { url: 'http://shop.example/charge', method: 'POST', headers: { 'x-id': '7' }, ...call },
});

export const notifyTask = (slot: number, dueAt: number | null): TaskOf<'notify'> => ({
  kind: 'notify',
  slot,
  messageId: `msg_notify_${slot}`,
  dueAt,
  createdAt: T0,
  name: `call ${slot}`,
  group: slot,
  concurrent: 1,
  eventId: 'paid',
  workflowRunId: null,
  content: { kind: 'data', body: { encoding: 'utf8', data: 'é' }, contentType: 'text/plain' },
});

export const invokeTask = (
  slot: number,
  dueAt: number | null,
  childRunKey: string,
  invoke: InvokeSpec | null = null,
): TaskOf<'invoke'> => ({
  kind: 'invoke',
  slot,
  messageId: `msg_invoke_${slot}`,
  dueAt,
  createdAt: T0,
  name: `invoke ${slot}`,
  group: slot,
  concurrent: 1,
  childRunKey,
  childWorkflowRunId: `wfr_${childRunKey}`,
  childCreatedAt: T0 + 3,
  invoke,
});

export const callbackTask = (dueAt: number | null, dlqId: string): TaskOf<'callback'> => ({
  kind: 'callback',
  slot: CALLBACK_SLOT,
  messageId: 'msg_callback',
  dueAt,
  createdAt: T0,
  retried: 1,
  dlqId,
});

export const keptEvent = (n: number, eventId = 'paid'): KeptEvent => ({
  eventKey: `evt_${n}`,
  eventId,
  content: { kind: 'data', body: { encoding: 'utf8', data: `event ${n}` } },
  receivedAt: T0 + n,
});

export const sampleAttempt = (retried: number): FailedAttempt => ({
  slot: 1,
  name: retried === 0 ? null : 'pay',
  messageId: 'msg_1',
  retried,
  at: T0 + retried,
  cause: 'http',
  message: `attempt ${retried} failed`,
  status: retried === 0 ? null : 503,
  retryAt: retried === 0 ? T0 + 1000 : null,
  ...(retried === 0 ? {} : { thrown: { causes: [{ name: 'TypeError', message: 'fetch failed' }] } }),
});

export const sampleExchange = (n: number): StoredExchange => ({
  startedAt: T0 - n,
  durationMs: n,
  request: {
    method: 'POST',
    url: `http://w.test/é?n=${n}`,
    headers: { 'x-n': [`"${n}"`, '\u0000'] },
    bodyBytes: 7,
    ...(n === 0 ? { body: { encoding: 'utf8', data: 'é\u0000' } } : {}),
  },
  response: n === 0 ? null : { status: 503, headers: {}, body: { encoding: 'base64', data: '/w==' }, bodyBytes: 90_000 },
});

export const sampleDeadLetter = (run: RunIdentity, overrides: Partial<DeadLetter> = {}): DeadLetter => ({
  dlqId: `dlq_${run.key}`,
  runKey: run.key,
  instanceId: run.instanceId,
  createdAt: run.createdAt + 1000,
  failureFunctionState: null,
  responseStatus: 500,
  responseHeaders: { 'content-type': ['text/plain'], 'set-cookie': ['a=1', 'b=2'] },
  responseBody: new Uint8Array([104, 105, 0, 255]),
  error: 'the step failed',
  failedBy: {
    stepName: 'pay 1',
    message: 'Error: no stock \u0000 \ud83d',
    thrown: { code: '23505', stack: 'at charge (/app/é.js:1:2)', source: { file: 'é.js', line: 1 } },
  },
  ...overrides,
});

export const unit = (writes: readonly StoreWrite[], guards: readonly StoreGuard[] = []): CommitUnit => ({ guards, writes });

export const creation = (run: Run, input: RunPayload | { readonly copyOf: string } = PAYLOAD): StoreWrite => ({
  kind: 'create-run',
  run,
  input,
});

export const failure = (
  run: Run,
  entry: DeadLetter = sampleDeadLetter(run),
  group: FailureGroup | null = null,
): readonly StoreWrite[] => [
  { kind: 'end-run', runKey: run.key, outcome: { status: 'failed', error: entry.error }, completedAt: entry.createdAt },
  { kind: 'add-dead-letter', entry, group },
];

export const putTasks = (runKey: string, tasks: readonly Task[]): readonly StoreWrite[] =>
  tasks.map((task) => ({ kind: 'put-task', runKey, task }));

/** Commits one unit that must be applied. */
export async function apply(store: Store, writes: readonly StoreWrite[], guards: readonly StoreGuard[] = []): Promise<void> {
  assert.deepEqual(await store.commit([unit(writes, guards)]), [{ kind: 'applied' }]);
}

/** Returns a repeatable source of numbers from 0 to `below` - 1 (mulberry32). */
export function seededNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * below);
  };
}

/** Bounds that no sample exceeds. */
const NO_BOUNDS = { bounds: { maxRows: 1_000_000, maxBytes: 2 ** 40 }, maxOutBytes: 2 ** 30 };

type WholeHistory = Omit<RunHistory, 'next' | 'journalLength'>;

/** Returns the history of a run, which must fit into one part. */
export async function fullHistory(
  store: Store,
  query: { readonly runKey: string; readonly exchanges?: true },
): Promise<WholeHistory | null> {
  const part = await store.runHistory({ ...NO_BOUNDS, ...query });
  if (!part) return null;
  const { next, journalLength: _, ...history } = part;
  if (next.steps ?? next.tasks ?? next.attempts) throw new Error(`the history of ${query.runKey} is longer than one part`);
  return history;
}
