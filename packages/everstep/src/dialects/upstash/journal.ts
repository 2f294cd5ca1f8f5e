/**
 * The journal as the published SDK reads it: first what the run was triggered
 * with, then every recorded step in order. Steps that were planned together
 * have an entry that plans each of them before their results. An entry is
 * named by the message that brought it; the last one is the message that is
 * delivered.
 */
import type { StepType } from '@everstep/sdk/protocol';
import type { RecordedStep, RunPayload, StepTask } from '../../engine/run.js';
import { type HookPlace, wireOutcome } from './step-outcomes.js';

export interface WireEntry {
  readonly messageId: string;
  /** Base64. */
  readonly body: string;
  readonly callType: 'step';
}

export interface JournalSource extends HookPlace {
  readonly runKey: string;
  readonly payload: RunPayload;
  readonly recorded: readonly RecordedStep[];
  /** What is planned and not recorded, and is to be shown: by position. */
  readonly open: readonly StepTask[];
}

interface Planned {
  readonly stepId: number;
  readonly name: string;
  readonly type: StepType;
  readonly concurrent: number;
}

/** Of the message that brought the run itself. */
export const firstMessageId = (runKey: string): string => `msg_${runKey}`;

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

const entry = (messageId: string, body: object): WireEntry => ({
  messageId,
  body: Buffer.from(JSON.stringify(body)).toString('base64'),
  callType: 'step',
});

/** What the run was triggered with. */
export const firstEntry = (runKey: string, { body }: RunPayload): WireEntry => ({
  messageId: firstMessageId(runKey),
  body: base64(body),
  callType: 'step',
});

function planEntry(messageId: string, { stepId, name, type, concurrent }: Planned): WireEntry {
  return entry(messageId, { stepId: 0, stepName: name, stepType: type, concurrent, targetStep: stepId });
}

export function stepEntry(step: RecordedStep, place: HookPlace): WireEntry {
  const { stepId, name, type, concurrent, out } = step;
  return entry(step.messageId, {
    stepId,
    stepName: name,
    stepType: type,
    ...wireOutcome(type, out, place),
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

/** That a recorded step was planned. The result has the id of the message; what planned it needs another. */
export const planEntryOf = (step: RecordedStep): WireEntry => planEntry(`${step.messageId}_plan`, step);

/** That a step is planned which is not recorded. */
export const openEntry = (task: StepTask): WireEntry =>
  planEntry(task.messageId, { stepId: task.slot, name: task.name, type: typeOf(task), concurrent: task.concurrent });

export function wireJournal(source: JournalSource): readonly WireEntry[] {
  const { recorded, payload } = source;
  const entries: WireEntry[] = [firstEntry(source.runKey, payload)];
  for (let at = 0; at < recorded.length; ) {
    const first = recorded[at];
    if (!first) break;
    let end = at + 1;
    while (recorded[end]?.group === first.group) end++;
    const group = recorded.slice(at, end);
    if (first.concurrent > 1) entries.push(...group.map(planEntryOf));
    entries.push(...group.map((step) => stepEntry(step, source)));
    at = end;
  }
  entries.push(...source.open.map(openEntry));
  return entries;
}
