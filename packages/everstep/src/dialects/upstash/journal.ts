/**
 * Builds the journal in the format of the published SDK: first the payload of the run, then every recorded step in
 * order. For steps that were planned together, plan entries precede the results. An entry has the id of its message;
 * the plan entry of a recorded step has `_plan` at the end. When a step is delivered, the last entry is its plan entry.
 */
import type { StepType } from '@everstep/sdk/protocol';
import type { RecordedStep, RunPayload, StepTask } from '../../engine/runs/run.js';
import { type WebhookOwner, wireOutcome } from './step-outcomes.js';

export interface WireEntry {
  readonly messageId: string;
  /** Payload of the run in Base64. */
  readonly body: string;
  readonly callType: 'step';
}

export interface JournalSource extends WebhookOwner {
  readonly runKey: string;
  readonly payload: RunPayload;
  readonly recordedSteps: readonly RecordedStep[];
  /** Planned steps that are not recorded yet, ordered by position. */
  readonly openSteps: readonly StepTask[];
}

interface PlanFields {
  readonly stepId: number;
  readonly name: string;
  readonly type: StepType;
  readonly concurrent: number;
}

/** Id of the message that started the run. */
export const firstMessageId = (runKey: string): string => `msg_${runKey}`;

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

const encodeEntry = (messageId: string, body: object): WireEntry => ({
  messageId,
  body: Buffer.from(JSON.stringify(body)).toString('base64'),
  callType: 'step',
});

/** Entry with the payload of the run. */
export const firstEntry = (runKey: string, { body }: RunPayload): WireEntry => ({
  messageId: firstMessageId(runKey),
  body: base64(body),
  callType: 'step',
});

function planEntry(messageId: string, { stepId, name, type, concurrent }: PlanFields): WireEntry {
  return encodeEntry(messageId, { stepId: 0, stepName: name, stepType: type, concurrent, targetStep: stepId });
}

export function stepEntry(step: RecordedStep, owner: WebhookOwner): WireEntry {
  const { stepId, name, type, concurrent, out } = step;
  return encodeEntry(step.messageId, {
    stepId,
    stepName: name,
    stepType: type,
    ...wireOutcome(type, out, owner),
    concurrent,
  });
}

function typeOf(task: StepTask): StepType {
  switch (task.kind) {
    case 'step':
      return task.stepType ?? 'Run';
    case 'sleep':
    case 'wait':
      return task.stepType;
    case 'call':
      return 'Call';
    case 'notify':
      return 'Notify';
    case 'invoke':
      return 'Invoke';
  }
}

/** Plan entry of a recorded step. The result already has the message id, so the plan gets a different one. */
export const planEntryOf = (step: RecordedStep): WireEntry => planEntry(`${step.messageId}_plan`, step);

/** Plan entry of a step that is not recorded yet. */
export const openStepEntry = (task: StepTask): WireEntry =>
  planEntry(task.messageId, { stepId: task.slot, name: task.name, type: typeOf(task), concurrent: task.concurrent });

export function wireJournal(source: JournalSource): readonly WireEntry[] {
  const { recordedSteps, payload } = source;
  const entries: WireEntry[] = [firstEntry(source.runKey, payload)];
  for (let start = 0; start < recordedSteps.length; ) {
    const firstStep = recordedSteps[start];
    if (!firstStep) break;
    let end = start + 1;
    while (recordedSteps[end]?.group === firstStep.group) end++;
    const group = recordedSteps.slice(start, end);
    if (firstStep.concurrent > 1) entries.push(...group.map(planEntryOf));
    entries.push(...group.map((step) => stepEntry(step, source)));
    start = end;
  }
  entries.push(...source.openSteps.map(openStepEntry));
  return entries;
}
