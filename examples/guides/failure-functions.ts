import { serve } from '@everstep/sdk';

interface Booking {
  readonly seat: string;
}

export const released: string[] = [];

/** Books a seat. If the run fails, its failure function releases the seat. */
export const booking = serve<Booking, string>(
  async (context) => {
    const { seat } = context.payload;
    await context.run('hold the seat', () => seat);
    return context.run('charge', (): string => {
      throw new Error('card declined');
    });
  },
  {
    failureFunction: async ({ runId, payload, error, dlqId }) => {
      // Called at least once, so it must be idempotent.
      released.push(`${payload.seat} (${error}; run ${runId}, dead letter ${dlqId})`);
    },
  },
);
