/** Connects steps to the traces of OpenTelemetry. Requires the package `@opentelemetry/api`, which the rest of the SDK does not. */
import { context, createTraceState, ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api';
import { setStepScope } from './executor/step-scope.js';
import { parseTraceparent } from './trace-context.js';

/**
 * Makes the spans of your steps children of the attempts that Everstep exports. This applies to all workflows of this process,
 * over HTTP and over connections. Call it once, after the OpenTelemetry SDK is started. Without an SDK it has no effect.
 *
 * While the function of a step runs, its attempt is the active span. If your HTTP server is instrumented, the active span is
 * that of the server, which is a child of the attempt. Returns a function that undoes the change.
 */
export function traceSteps(): () => void {
  setStepScope(({ traceparent, tracestate }) => {
    const parent = parseTraceparent(traceparent);
    if (!parent) return null;
    const { traceId, spanId, isSampled } = parent;
    const activeContext = context.active();
    const isInstrumented = trace.getSpanContext(activeContext)?.traceId === traceId;
    const stepContext = isInstrumented
      ? activeContext
      : trace.setSpanContext(ROOT_CONTEXT, {
          ...{ traceId, spanId, isRemote: true },
          traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
          ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
        });
    return (action) => context.with(stepContext, action);
  });
  return () => setStepScope(null);
}
