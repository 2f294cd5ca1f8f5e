/** The position of runs in traces, derived from data that is stored with them. */
import { formatTraceparent, parseTraceparent } from '@everstep/sdk/protocol';
import type { AttemptedTask, Run } from '../engine/runs/run.js';
import type { AttemptTrace, Traces } from '../ports/traces.js';
import type { Sampler } from './sampler.js';
import type { SpanLink } from './span.js';
import { attemptSpanId, runSpanId, stepSpanId, traceIdOf } from './span-ids.js';

/** Properties that determine the position of a run in traces. */
export type TracedRun = Pick<Run, 'key' | 'origin' | 'settings'>;

/** The position of a run in traces. */
export interface RunPosition {
  readonly traceId: string;
  readonly isSampled: boolean;
  /** Span id of the parent of the trigger; null if the trace starts with the trigger. */
  readonly parentSpanId: string | null;
}

/** Returns the key of the message whose response a message reports, or null. Both messages belong to one trace. */
const reportedKeyOf = ({ settings }: TracedRun): string | null => settings.message?.callbackOf?.replace(/^msg_/, '') ?? null;

export class RunTraces implements Traces {
  private readonly sampler: Sampler;

  constructor(sampler: Sampler) {
    this.sampler = sampler;
  }

  positionOf(run: TracedRun): RunPosition {
    const { trace } = run.settings;
    const reportedRunKey = reportedKeyOf(run);
    const parent = trace && !trace.isLinked ? parseTraceparent(trace.traceparent) : null;
    const traceId = parent?.traceId ?? traceIdOf(reportedRunKey ?? run.key);
    return {
      traceId,
      isSampled: this.sampler(traceId, parent?.isSampled ?? null),
      parentSpanId: reportedRunKey === null ? (parent?.spanId ?? null) : runSpanId(reportedRunKey),
    };
  }

  /** Returns the links of a run: to the run that it continues, and to the request that created its schedule. */
  linksOf({ origin, settings }: TracedRun): readonly SpanLink[] {
    const links: SpanLink[] = [];
    const linkedSpan = settings.trace?.isLinked ? parseTraceparent(settings.trace.traceparent) : null;
    if (linkedSpan)
      links.push({
        traceId: linkedSpan.traceId,
        spanId: linkedSpan.spanId,
        attributes: { 'everstep.link': 'schedule-created-by' },
      });
    if (origin?.kind === 'resume' || origin?.kind === 'restart' || origin?.kind === 'fork') {
      // The run has the trace setting of the run that it continues.
      const { traceId } = this.positionOf({ key: origin.runKey, origin: null, settings });
      const attributes = { 'everstep.link': `${origin.kind}-of`, 'everstep.run.id': origin.workflowRunId };
      links.push({ traceId, spanId: runSpanId(origin.runKey), attributes });
    }
    return links;
  }

  traceOfAttempt(run: Run, { kind, messageId, retried }: AttemptedTask): AttemptTrace {
    const { traceId, isSampled } = this.positionOf(run);
    const spanId = attemptSpanId(messageId, retried);
    const context = this.contextOf(run, { traceId, spanId, isSampled });
    if (!isSampled) return { context };
    const stepSpan = kind === 'message' || kind === 'callback' ? null : stepSpanId(messageId);
    return { context, span: { traceId, spanId, isSampled, runSpanId: runSpanId(run.key), stepSpanId: stepSpan, retried } };
  }

  contextOfInvokedRun(run: Run, messageId: string): AttemptTrace['context'] {
    const { traceId, isSampled } = this.positionOf(run);
    return this.contextOf(run, { traceId, spanId: stepSpanId(messageId), isSampled });
  }

  contextOfNotification(run: Run, messageId: string): AttemptTrace['context'] {
    return this.contextOfInvokedRun(run, messageId);
  }

  private contextOf({ settings: { trace } }: Run, span: Parameters<typeof formatTraceparent>[0]): AttemptTrace['context'] {
    const traceparent = formatTraceparent(span);
    const tracestate = trace?.isLinked ? undefined : trace?.tracestate;
    return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
  }
}
