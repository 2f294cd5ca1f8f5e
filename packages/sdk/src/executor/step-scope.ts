/** The scope in which the actions of a request run, for example the context of a trace. */
import type { StepRequest, TraceContext } from '../protocol.js';

/** Runs an action in the scope and returns its result. */
export type StepScope = (action: () => unknown) => unknown;

/** Returns the scope for requests with a trace context, in the async context of the request. */
export type ScopeOfTrace = (trace: TraceContext) => StepScope | null;

let scopeOfTrace: ScopeOfTrace | null = null;

/** Sets the scope of all workflows of this process; null: none. */
export function setStepScope(scope: ScopeOfTrace | null): void {
  scopeOfTrace = scope;
}

/** Returns the scope of a request; null if there is none. */
export const stepScopeOf = ({ trace }: Pick<StepRequest, 'trace'>): StepScope | null =>
  scopeOfTrace && trace ? scopeOfTrace(trace) : null;
