import type { Client } from '@upstash/workflow';
import { serve } from '@upstash/workflow/hono';
import { Hono } from 'hono';

export interface Signup {
  readonly email: string;
  readonly mailUrl: string;
}

/** Addresses of those whom no mail could be sent to. */
export const unreachable: string[] = [];

/** As it was: nothing in it names a service. Where it is, and whose calls are good, is in the environment. */
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
      await context.sleep('let them look around', '1s');
      const mail = JSON.stringify({ to: email, plan });
      const { status } = await context.call('mail', { url: mailUrl, method: 'POST', body: mail });
      if (status !== 200) throw new Error(`the mail was answered ${status}`);
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

/** Starts a run, and gives its id. */
export async function welcome(client: Client, url: string, signup: Signup): Promise<string> {
  const { workflowRunId } = await client.trigger({ url, body: signup, retries: 0, label: 'welcome' });
  return workflowRunId;
}

/** Says whether anybody waited for it. */
export async function confirm(client: Client, email: string, at: string): Promise<boolean> {
  const notified = await client.notify({ eventId: `confirmed-${email}`, eventData: { at } });
  return notified.length > 0;
}
