import { serve } from '@everstep/sdk';

interface Booking {
  readonly seat: string;
}

export const released: string[] = [];

/** Books a seat. When the run has failed for good, its failure function gives the seat back. */
export const booking = serve<Booking, string>(
  async (context) => {
    const { seat } = context.payload;
    await context.run('hold the seat', () => seat);
    return context.run('charge', (): string => {
      throw new Error('the card was refused');
    });
  },
  {
    failureFunction: async ({ runId, payload, error, dlqId }) => {
      // Told at least once, so it must be safe to do it twice.
      released.push(`${payload.seat} (${error}; ${runId} is in the queue as ${dlqId})`);
    },
  },
);
