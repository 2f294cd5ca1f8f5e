/** Runs for tests of decisions: the time, the settings, the start of a run, and responses of its endpoint. */
import assert from 'node:assert/strict';
import type { ProgressReply, StepReply } from '@everstep/sdk/protocol';
import type { DecisionContext } from './ids.js';
import { decide } from './runs/decide.js';
import type { Decision } from './runs/decision.js';
import type { Run, RunSettings } from './runs/run.js';
import { type StartCommand, startRun } from './runs/start.js';

/** Start of the runs, Unix ms. */
export const T0 = 1_800_000_000_000;

let nextRandomByte = 0;

/** Returns the context of a decision `ms` after the start. Its random bytes continue a sequence, so that all ids differ. */
export const at = (ms: number): DecisionContext => ({
  now: T0 + ms,
  random: { bytes: (count) => Uint8Array.from({ length: count }, () => nextRandomByte++ & 0xff) },
  publicUrl: 'https://everstep.example',
});

export const SETTINGS: RunSettings = {
  maxRetries: 1,
  retryDelay: '1000',
  deliveryTimeoutMs: 1000,
  labels: [],
  flowControl: null,
  failureCallback: null,
};

/** An empty successful response. */
export const ENVELOPE = { status: 200, responseHeaders: {}, responseBody: new Uint8Array() };
/** The envelope of a request that failed before a response arrived. */
export const NO_RESPONSE = { status: null, responseHeaders: {}, responseBody: new Uint8Array() };

/** Returns the command that starts a run with these settings. */
export const command = (settings: Partial<RunSettings> = {}, overrides: Partial<StartCommand> = {}): StartCommand => ({
  instanceId: 'qi_1',
  dialect: 'native',
  workflowUrl: 'http://app/flow',
  payload: { body: new Uint8Array(), contentType: null, forwardHeaders: {} },
  settings: { ...SETTINGS, ...settings },
  callerIp: '127.0.0.1',
  workflowRunId: null,
  notBefore: null,
  deduplicationId: null,
  ...overrides,
});

/** Returns a run that has just started. */
export const startedRun = (settings: Partial<RunSettings> = {}, overrides: Partial<StartCommand> = {}): Run =>
  startRun(command(settings, overrides), at(0)).run;

/** Returns the pending attempt of a task. */
export function attemptOf(run: Run, slot: number) {
  const task = run.tasks.get(slot);
  assert.ok(task && 'retried' in task, `slot ${slot} has a task with attempts`);
  return { slot, messageId: task.messageId, retried: task.retried };
}

/** Returns a reply of an endpoint that knows the whole journal. It adds only what `overrides` specifies. */
export const progress = (run: Run, overrides: Partial<ProgressReply>): ProgressReply => ({
  protocol: 1,
  kind: 'progress',
  base: run.journalLength,
  done: [],
  advanced: true,
  planned: [],
  ...overrides,
});

/** Decides on the response to the pending attempt of a task. */
export const decideOnReply = (run: Run, slot: number, reply: StepReply, context: DecisionContext = at(1)): Decision =>
  decide(run, { kind: 'replied', attempt: attemptOf(run, slot), envelope: ENVELOPE, reply }, context);
