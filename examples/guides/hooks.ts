import { NonRetryableError, serve, type WorkflowHooks } from '@everstep/sdk';

/** The part of `@sentry/node` that is used. */
export interface ErrorReporter {
  captureException(error: unknown, context: { tags: Record<string, string> }): unknown;
}

/** The part of a pino logger that is used. */
export interface Logger {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Reports each error that ends a run once. Pass `Sentry`. */
export function reportErrors(reporter: ErrorReporter): WorkflowHooks {
  return {
    runFailed({ error, willRetry, runId, workflowUrl, step }) {
      if (willRetry) return;
      reporter.captureException(error, { tags: { runId, workflowUrl, step: step?.name ?? '' } });
    },
  };
}

/** Logs runs and steps. Pass a logger of pino. */
export function logRuns(log: Logger): WorkflowHooks {
  return {
    runStarted: ({ runId, labels }) => log.info({ runId, labels }, 'run started'),
    stepFinished: ({ runId, step, durationMs }) => log.info({ runId, step: step.name, durationMs }, 'step finished'),
    stepFailed: ({ runId, step, attempt, error }) => log.error({ runId, step: step.name, attempt, err: error }, 'step failed'),
    runFinished: ({ runId, durationMs }) => log.info({ runId, durationMs }, 'run finished'),
  };
}

interface Payment {
  readonly card: string;
}

export const paymentWith = (reporter: ErrorReporter, log: Logger) =>
  serve<Payment, string>(
    async (context) => {
      const { card } = context.payload;
      return context.run('charge', () => {
        if (card === 'expired')
          throw new NonRetryableError('the card has expired', { cause: new Error('the bank responded with 402') });
        return 'paid';
      });
    },
    { hooks: [reportErrors(reporter), logRuns(log)] },
  );
