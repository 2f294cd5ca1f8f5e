/**
 * Trace contexts of the requests that leave the server. While traces are not exported, the context of the trigger is passed
 * on unchanged, so that an app finds the spans of its caller.
 */
import type { SpanReference, TraceContext } from '@everstep/sdk/protocol';
import type { AttemptedTask, Run, RunTrace } from '../engine/runs/run.js';

/** The span of an attempt, and the spans that can be its parent. */
export interface AttemptSpan extends SpanReference {
  /** Span id of the run. */
  readonly runSpanId: string;
  /** Span id of the step that belongs to the message; null if the message belongs to no step. */
  readonly stepSpanId: string | null;
  /** Number of failed attempts of the message before this one. */
  readonly retried: number;
}

/** Trace context that one attempt sends, and the span of the attempt. */
export interface AttemptTrace {
  readonly context: TraceContext;
  /** Span of the attempt; absent if none is exported. */
  readonly span?: AttemptSpan;
}

export interface Traces {
  /** Returns the trace of an attempt of a task of the run; undefined if nothing is sent. */
  traceOfAttempt(run: Run, task: AttemptedTask): AttemptTrace | undefined;
  /** Returns the trace of a run that a step of this run creates; `messageId` is the message id of the step. */
  contextOfInvokedRun(run: Run, messageId: string): RunTrace | undefined;
  /** Returns the trace context of a notification that a step of this run sends; undefined if no span links to it. */
  contextOfNotification(run: Run, messageId: string): TraceContext | undefined;
}

const triggerTrace = ({ settings: { trace } }: Run): RunTrace | undefined => (trace?.isLinked ? undefined : trace);

/** Traces that are not exported: the context of the trigger is passed on. */
export const NO_TRACES: Traces = {
  traceOfAttempt(run) {
    const trace = triggerTrace(run);
    return trace && { context: trace };
  },
  contextOfInvokedRun: triggerTrace,
  contextOfNotification: () => undefined,
};
