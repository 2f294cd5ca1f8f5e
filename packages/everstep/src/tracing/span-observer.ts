/**
 * Creates spans of the work of the server, at the same points at which metrics count it. A span is created when it ends: its
 * start is stored with the run, so it is correct after a restart too.
 */
import { parseTraceparent, parseWorkerUrl, type SpanReference, type TraceContext, truncateText } from '@everstep/sdk/protocol';
import type { RecordedStep, Run, StepTask, Task } from '../engine/runs/run.js';
import type { CommitUnit, StoreWrite } from '../engine/writes.js';
import type { ObservedDelivery, Observer } from '../ports/observer.js';
import { isWorkerUrl } from '../ports/workers.js';
import type { RunPosition, RunTraces } from './run-traces.js';
import type { Span, SpanAttributes, SpanLink, SpanSink } from './span.js';
import { runSpanId, stepSpanId, triggerSpanId } from './span-ids.js';

const MAX_NAME_LENGTH = 200;
const FIRST_ERROR_STATUS = 400;

const STEP_VERBS: Partial<Readonly<Record<RecordedStep['type'], string>>> = {
  SleepFor: 'sleep',
  SleepUntil: 'sleep',
  Wait: 'wait',
  WaitForWebhook: 'wait',
  Call: 'call',
  Invoke: 'invoke',
  Notify: 'notify',
};
const TASK_VERBS: Readonly<Record<StepTask['kind'], string>> = {
  step: 'step',
  sleep: 'sleep',
  wait: 'wait',
  call: 'call',
  notify: 'notify',
  invoke: 'invoke',
};

const shorten = (text: string): string => truncateText(text, MAX_NAME_LENGTH);
const isStepTask = (task: Task): task is StepTask => 'name' in task;

/** Returns the URL without user, query and fragment, which may contain secrets. */
function stripSecrets(url: string): { readonly text: string; readonly path: string } {
  const worker = parseWorkerUrl(url);
  if (worker) return { text: url, path: `${worker.app}/${worker.workflow}` };
  if (!URL.canParse(url)) return { text: '', path: '' };
  const { origin, pathname } = new URL(url);
  return { text: origin + pathname, path: pathname };
}

const linkTo = ({ traceId, spanId }: SpanReference, attributes: SpanAttributes): SpanLink => ({ traceId, spanId, attributes });

function serverOf(url: string): SpanAttributes {
  if (isWorkerUrl(url) || !URL.canParse(url)) return {};
  const { hostname, port, protocol } = new URL(url);
  const defaultPort = protocol === 'https:' ? 443 : 80;
  return {
    'server.address': hostname,
    'server.port': port === '' ? defaultPort : Number(port),
    'url.scheme': protocol.slice(0, -1),
  };
}

const messageAttributes = ({ workflowRunId, settings: { message } }: Run): SpanAttributes => ({
  'messaging.system': 'everstep',
  'messaging.message.id': workflowRunId,
  'messaging.destination.name': message?.queue ?? message?.urlGroup,
});

function attributesOf(run: Run): SpanAttributes {
  const { instanceId, workflowRunId, settings, workflowUrl } = run;
  const commonAttributes = { 'everstep.instance.id': instanceId };
  if (settings.message) return { ...commonAttributes, ...messageAttributes(run) };
  return {
    ...commonAttributes,
    'everstep.run.id': workflowRunId,
    'everstep.workflow.url': shorten(stripSecrets(workflowUrl).text),
  };
}

/** Data of a step that has ended. */
interface EndedStep {
  readonly stepId: number;
  readonly name: string;
  readonly verb: string;
  readonly type: string | undefined;
  readonly messageId: string;
  /** Time when the step started, Unix ms. */
  readonly startMs: number;
  readonly endMs: number;
  readonly outcome: 'failed' | 'canceled' | undefined;
  /** Trace context of the notification that ended a wait. */
  readonly notifiedBy?: TraceContext | undefined;
}

/** The calls of an observer from which spans are created. */
export type SpanPoints = Pick<Observer, 'committed' | 'delivered'>;

/** Creates spans and passes them to the sink. */
class SpanObserver implements SpanPoints {
  private readonly traces: RunTraces;
  private readonly sink: SpanSink;
  private readonly now: () => number;

  constructor(traces: RunTraces, sink: SpanSink, now: () => number) {
    this.traces = traces;
    this.sink = sink;
    this.now = now;
  }

  committed(units: readonly CommitUnit[], runOf: (runKey: string) => Run | null): void {
    for (const { writes } of units) for (const write of writes) this.handleWrite(write, writes, runOf);
  }

  delivered({ span, isOfStep, url, method, kind, durationMs, outcome }: ObservedDelivery): void {
    if (!span) return;
    const isError = typeof outcome === 'string' || outcome >= FIRST_ERROR_STATUS;
    const isHttp = !isWorkerUrl(url);
    const endMs = this.now();
    this.sink.add({
      traceId: span.traceId,
      spanId: span.spanId,
      parentSpanId: isOfStep && span.stepSpanId !== null ? span.stepSpanId : span.runSpanId,
      name: 'attempt',
      kind: 'client',
      startMs: endMs - durationMs,
      endMs,
      isError,
      attributes: {
        'everstep.delivery.kind': kind,
        'everstep.transport': isHttp ? 'http' : 'connection',
        'http.request.method': isHttp ? method : undefined,
        'http.response.status_code': isHttp && typeof outcome === 'number' ? outcome : undefined,
        'http.request.resend_count': span.retried > 0 ? span.retried : undefined,
        'error.type': isError ? String(outcome) : undefined,
        ...serverOf(url),
      },
    });
  }

  private handleWrite(write: StoreWrite, unitWrites: readonly StoreWrite[], runOf: (runKey: string) => Run | null): void {
    switch (write.kind) {
      case 'create-run':
        this.addTriggerSpan(write.run);
        return;
      case 'record-step': {
        const run = runOf(write.runKey);
        // The result of an edited step was supplied with a fork.
        if (run && !write.step.edited) this.addRecordedStep(run, write.step);
        return;
      }
      case 'end-run': {
        const run = runOf(write.runKey);
        if (run) this.addRunSpans(run, write.outcome.status, write.completedAt, unitWrites);
      }
    }
  }

  private addTriggerSpan(run: Run): void {
    const position = this.traces.positionOf(run);
    if (!position.isSampled) return;
    this.add(run, position, {
      spanId: triggerSpanId(run.key),
      parentSpanId: position.parentSpanId,
      name: run.origin?.kind ?? (run.settings.message ? 'publish' : 'trigger'),
      kind: 'producer',
      startMs: run.createdAt,
      endMs: Math.max(run.createdAt, this.now()),
      attributes: attributesOf(run),
    });
  }

  private addRecordedStep(run: Run, step: RecordedStep): void {
    const position = this.traces.positionOf(run);
    if (!position.isSampled) return;
    const { stepId, name, type, messageId, createdAt, completedAt, notifiedBy } = step;
    const verb = STEP_VERBS[type] ?? 'step';
    this.addStepSpan(run, position, {
      ...{ stepId, name, verb, type, messageId },
      ...{ startMs: createdAt, endMs: completedAt, outcome: undefined, notifiedBy },
    });
  }

  private addRunSpans(run: Run, state: Run['status'], endMs: number, unitWrites: readonly StoreWrite[]): void {
    const position = this.traces.positionOf(run);
    if (!position.isSampled) return;
    const failedWrite = unitWrites.find(
      (write) => write.kind === 'record-attempt' && write.runKey === run.key && write.attempt.retryAt === null,
    );
    const attempt = failedWrite?.kind === 'record-attempt' ? failedWrite.attempt : null;
    for (const task of run.tasks.values()) {
      if (!isStepTask(task)) continue;
      const { slot: stepId, name, kind, messageId, createdAt: startMs } = task;
      const outcome = messageId === attempt?.messageId ? 'failed' : 'canceled';
      this.addStepSpan(run, position, {
        stepId,
        name,
        verb: TASK_VERBS[kind],
        type: undefined,
        messageId,
        startMs,
        endMs,
        outcome,
      });
    }
    const { message } = run.settings;
    this.add(run, position, {
      spanId: runSpanId(run.key),
      parentSpanId: triggerSpanId(run.key),
      name: message ? 'message' : shorten(`run ${stripSecrets(run.workflowUrl).path}`),
      kind: 'internal',
      startMs: run.createdAt,
      endMs,
      isError: state === 'failed',
      links: this.traces.linksOf(run),
      attributes: {
        ...attributesOf(run),
        'everstep.run.state': state,
        'everstep.run.origin': run.origin?.kind,
        'error.type': state === 'failed' ? (attempt?.cause ?? 'failed') : undefined,
      },
    });
  }

  private addStepSpan(run: Run, position: RunPosition, step: EndedStep): void {
    const { stepId, name, verb, type, messageId, startMs, endMs, outcome, notifiedBy } = step;
    const notifier = notifiedBy && parseTraceparent(notifiedBy.traceparent);
    this.add(run, position, {
      spanId: stepSpanId(messageId),
      parentSpanId: runSpanId(run.key),
      name: shorten(`${verb} ${name}`),
      kind: 'internal',
      // A resumed run continues steps that were planned before it was created.
      startMs: Math.max(run.createdAt, startMs),
      endMs,
      isError: outcome === 'failed',
      ...(notifier ? { links: [linkTo(notifier, { 'everstep.link': 'notified-by' })] } : {}),
      attributes: {
        'everstep.run.id': run.workflowRunId,
        'everstep.step.id': stepId,
        'everstep.step.name': shorten(name),
        'everstep.step.type': type,
        'everstep.step.outcome': outcome,
      },
    });
  }

  private add({ settings: { trace } }: Run, { traceId }: RunPosition, span: Omit<Span, 'traceId' | 'tracestate'>): void {
    const tracestate = trace?.isLinked ? undefined : trace?.tracestate;
    this.sink.add({ traceId, tracestate, ...span });
  }
}

/** Returns an observer that creates spans. `now` returns the time of the server's clock in Unix ms. */
export const observeSpans = (traces: RunTraces, sink: SpanSink, now: () => number): SpanPoints =>
  new SpanObserver(traces, sink, now);
