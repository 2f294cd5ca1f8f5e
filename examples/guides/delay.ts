import { type Client, serve } from '@everstep/sdk';

export const reminder = serve<{ to: string }, string>(async (context) => {
  const { to } = context.payload;
  return context.run('remind', () => `reminded ${to}`);
});

/** In an hour. */
export function remindLater(client: Client, workflowUrl: string, to: string) {
  return client.trigger(workflowUrl, { body: { to }, delay: '1h' });
}

/** At an instant. It may be in the past: then the run starts at once. */
export function remindAt(client: Client, workflowUrl: string, to: string, at: Date) {
  return client.trigger(workflowUrl, { body: { to }, notBefore: at });
}
