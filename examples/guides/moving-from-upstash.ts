import type { Client } from '@upstash/workflow';
import { serve } from '@upstash/workflow/hono';
import { Hono } from 'hono';

export interface Signup {
  readonly email: string;
  readonly mailUrl: string;
}

/** Addresses that could not be reached. */
export const unreachable: string[] = [];

/** The app is unchanged. The server URL, the token and the signing keys come from the environment. */
export const app = new Hono();
app.post(
  '/welcome',
  serve<Signup>(
    async (context) => {
      const { email, mailUrl } = context.requestPayload;
      const [customer, plan] = await Promise.all([
        context.run('customer', () => ({ id: `customer of ${email}` })),
        context.run('plan', () => 'trial'),
      ]);
      await context.sleep('before the mail', '1s');
      const mail = JSON.stringify({ to: email, plan });
      const { status } = await context.call('mail', { url: mailUrl, method: 'POST', body: mail });
      if (status !== 200) throw new Error(`mail API returned status ${status}`);
      const { eventData, timeout } = await context.waitForEvent('confirmed', `confirmed-${email}`, { timeout: '3d' });
      return { ...customer, confirmed: timeout ? null : eventData };
    },
    {
      failureFunction: async ({ context }) => {
        unreachable.push(context.requestPayload.email);
      },
    },
  ),
);

/** Starts a run and returns its id. */
export async function welcome(client: Client, url: string, signup: Signup): Promise<string> {
  const { workflowRunId } = await client.trigger({ url, body: signup, retries: 0, label: 'welcome' });
  return workflowRunId;
}

/** Notifies the run. Returns false if no run waits for the event. */
export async function confirm(client: Client, email: string, at: string): Promise<boolean> {
  const notified = await client.notify({ eventId: `confirmed-${email}`, eventData: { at } });
  return notified.length > 0;
}
