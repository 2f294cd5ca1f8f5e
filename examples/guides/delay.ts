import { type Client, serve } from '@everstep/sdk';

export const reminder = serve<{ to: string }, string>(async (context) => {
  const { to } = context.payload;
  return context.run('remind', () => `reminded ${to}`);
});

/** Starts the run in an hour. */
export function remindLater(client: Client, workflowUrl: string, to: string) {
  return client.trigger(workflowUrl, { body: { to }, delay: '1h' });
}

/** Starts the run at a given time. If the time is in the past, the run starts immediately. */
export function remindAt(client: Client, workflowUrl: string, to: string, at: Date) {
  return client.trigger(workflowUrl, { body: { to }, notBefore: at });
}
