/** The scope in which the actions of a request run, for example the context of a trace. */
import type { StepRequest, TraceContext } from '../protocol.js';

/** Runs an action in the scope and returns its result. */
export type StepScope = (action: () => unknown) => unknown;

/** Returns the scope for a trace context, or null. Called in the async context of the request. */
export type TraceScopeFactory = (trace: TraceContext) => StepScope | null;

const FACTORY = Symbol.for('everstep.stepScope');

/** Contains the factory. Bundlers such as that of Next.js load this module several times in one process. */
const sharedByCopies = globalThis as { [FACTORY]?: TraceScopeFactory | null };

/** Sets the factory of scopes for all workflows of this process. Null removes it. */
export function setStepScope(factory: TraceScopeFactory | null): void {
  sharedByCopies[FACTORY] = factory;
}

/** Returns the scope of a request; null if there is none. */
export function stepScopeOf({ trace }: Pick<StepRequest, 'trace'>): StepScope | null {
  const createTraceScope = sharedByCopies[FACTORY];
  return createTraceScope && trace ? createTraceScope(trace) : null;
}

/** Runs actions so that the code that they call can determine which action called it. */
export interface ActionScope<Action> {
  /** Returns the action that calls this, also after an await; null if there is none. */
  readonly callingAction: () => Action | null;
  readonly runAsAction: (action: Action, run: () => unknown) => unknown;
}

/** First major version of Node in which AsyncLocalStorage does not slow down every await of the process. */
const MIN_NODE_VERSION = 24;

/**
 * Creates a scope. On a runtime without AsyncLocalStorage, or on which it would slow down all promises of the app, no calling
 * action can be determined.
 */
export function createActionScope<Action>(): ActionScope<Action> {
  const isCheap = typeof process === 'object' && Number.parseInt(process.versions?.node ?? '', 10) >= MIN_NODE_VERSION;
  const hooks = isCheap ? process.getBuiltinModule?.('node:async_hooks') : undefined;
  if (!hooks) return { callingAction: () => null, runAsAction: (_action, run) => run() };
  const storage = new hooks.AsyncLocalStorage<Action>();
  return { callingAction: () => storage.getStore() ?? null, runAsAction: (action, run) => storage.run(action, run) };
}
