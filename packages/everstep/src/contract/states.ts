/** States of runs, steps and failure callbacks. This file has no imports, because the dashboard loads it. */

export const RUN_STATES = ['RUN_STARTED', 'RUN_SUCCESS', 'RUN_FAILED', 'RUN_CANCELED'] as const;
export type RunState = (typeof RUN_STATES)[number];

export const STEP_STATES = ['STEP_SUCCESS', 'STEP_PROGRESS', 'STEP_RETRY', 'STEP_FAILED', 'STEP_CANCELED'] as const;
export type StepState = (typeof STEP_STATES)[number];

/** States of the failure callback of a run. */
export const FAILURE_FUNCTION_STATES = ['CALLBACK_INPROGRESS', 'CALLBACK_SUCCESS', 'CALLBACK_FAIL', 'CALLBACK_CANCELED'] as const;

/** What an active run can wait for. */
export const WAIT_KINDS = [
  'not-before',
  'sleeping',
  'waiting-for-event',
  'waiting-for-run',
  'retry',
  'flow-control',
  'queue',
  'destination-held',
  'no-worker',
  'queued',
] as const;
export type WaitKind = (typeof WAIT_KINDS)[number];
