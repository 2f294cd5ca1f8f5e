/** Spans of a runtime in memory with simulated time, and the workflows of an app that run in the same process. */
import { createEndpoint, type Endpoint, type Workflow } from '@everstep/sdk';
import { observeCaller, observeSender } from '../metrics/observed-calls.js';
import type { MessageOutcome } from '../ports/message-sender.js';
import { combineObservers, NO_OBSERVER } from '../ports/observer.js';
import type { StepCall, StepCaller, StepOutcome } from '../ports/step-caller.js';
import { type Bench, ScriptedSender, settle, withRuntime } from '../runtime/runtime.fixture.js';
import { RunTraces } from './run-traces.js';
import { createSampler } from './sampler.js';
import type { Span } from './span.js';
import { observeSpans } from './span-observer.js';

/** Workflows by the path of their URL. */
export type Workflows = Readonly<Record<string, Workflow<unknown, unknown>>>;

/** An app whose workflows are called without a network. */
export class TracedApp implements StepCaller {
  readonly calls: StepCall[] = [];
  private readonly endpoints: ReadonlyMap<string, Endpoint>;

  constructor(workflows: Workflows) {
    this.endpoints = new Map(
      Object.entries(workflows).map(([path, workflow]) => [path, createEndpoint(workflow, { allowUnsigned: true })]),
    );
  }

  async call(call: StepCall, _signal: AbortSignal, onSent?: () => void): Promise<StepOutcome> {
    this.calls.push(call);
    onSent?.();
    const endpoint = this.endpoints.get(new URL(call.workflowUrl).pathname);
    if (!endpoint) throw new Error(`no workflow at ${call.workflowUrl}`);
    const { status, body } = await endpoint.handle({
      method: 'POST',
      url: call.workflowUrl,
      headers: { 'svc-workflow-protocol': '1' },
      body: JSON.stringify(call.request),
    });
    return { kind: 'reply', reply: JSON.parse(body), status, responseHeaders: {}, responseBody: new Uint8Array() };
  }

  async close(): Promise<void> {}
}

export interface TracedBench extends Bench {
  readonly app: TracedApp;
  readonly sender: ScriptedSender;
  readonly spans: readonly Span[];
  /** Advances the clock, and waits until everything that is then due is done. */
  advance(ms: number): Promise<void>;
}

const ACCEPTED = { kind: 'response', status: 200, headers: {}, body: new Uint8Array() } as const;

/** Runs `work` with a traced runtime in memory. `sampler` is a result of `createSampler`. */
export async function withSpans(
  workflows: Workflows,
  work: (bench: TracedBench) => Promise<void>,
  {
    respond = () => ACCEPTED,
    sampler = createSampler('parentbased_always_on', 1),
  }: { readonly respond?: () => MessageOutcome; readonly sampler?: ReturnType<typeof createSampler> } = {},
): Promise<void> {
  let now = () => 0;
  const spans: Span[] = [];
  const traces = new RunTraces(sampler);
  const observer = combineObservers(
    NO_OBSERVER,
    observeSpans(traces, { add: (span) => spans.push(span) }, () => now()),
  );
  const app = new TracedApp(workflows);
  const sender = new ScriptedSender(respond);
  await withRuntime(
    observeCaller(app, observer, () => now()),
    async (bench) => {
      now = () => bench.clock.now();
      const advance = async (ms: number) => {
        bench.clock.move(ms);
        await settle();
        await settle();
      };
      await work({ ...bench, app, sender, spans, advance });
    },
    { observer, traces, sender: observeSender(sender, observer, () => now()) },
  );
}

/** Returns the spans of a trace as indented lines: name, duration in ms, and whether it failed. Siblings are in order of their start. */
export function treeOf(spans: readonly Span[], parent: string | null = null): readonly string[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .sort((a, b) => a.startMs - b.startMs || a.endMs - b.endMs)
    .flatMap((span) => [
      `${span.name} ${span.endMs - span.startMs}${span.isError ? ' failed' : ''}`,
      ...treeOf(spans, span.spanId).map((line) => `  ${line}`),
    ]);
}

/** Returns the spans whose parent is in the same trace but was not exported. */
export const orphansOf = (spans: readonly Span[]): readonly Span[] =>
  spans.filter(({ parentSpanId }) => parentSpanId !== null && !spans.some(({ spanId }) => spanId === parentSpanId));
