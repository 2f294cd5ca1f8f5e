/** The quickstart of an instance without runs: three steps for each option, with the URL and the token of the instance. */

export interface QuickstartAccess {
  readonly url: string;
  readonly token: string;
  readonly instanceId: string;
  readonly currentSigningKey: string;
  readonly nextSigningKey: string;
}

export interface QuickstartStep {
  readonly title: string;
  readonly code: string;
}

export type QuickstartOption = 'typescript' | 'curl' | 'upstash';

export const QUICKSTART_OPTIONS: Readonly<Record<QuickstartOption, { readonly text: string; readonly lead: string }>> = {
  typescript: {
    text: 'TypeScript',
    lead: 'Runs an app that connects to this server, so the app does not need its own address. Save the files in the Everstep directory, or install its SDK (packages/sdk) in your app.',
  },
  curl: { text: 'curl', lead: 'Starts a run with one request. The run waits until an app serves its workflow.' },
  upstash: {
    text: '@upstash/workflow',
    lead: 'Uses the published SDK, unmodified. This server must be able to reach the app. For an app on the same machine, start the server with everstep dev.',
  },
};

/** The workflow of "Your first workflow" in README.md; a test compares the two. */
export const ORDER_APP = `import { connect, serve } from '@everstep/sdk';

const order = serve(async (ctx) => {
  const { id, amount } = ctx.payload;
  await ctx.run('reserve', () => console.log(\`reserving \${id}\`));
  const [payment] = await Promise.all([
    ctx.run('charge', () => ({ paymentId: \`pay-\${id}\`, amount })), // retried separately if it throws
    ctx.run('notify', () => console.log(\`notifying the warehouse of \${id}\`)),
  ]);
  await ctx.sleep('grace period', '10s');
  return ctx.run('receipt', () => ({ receipt: \`\${id}: \${payment.amount} by \${payment.paymentId}\` }));
});

connect({ app: 'shop', workflows: { order } });`;

const UPSTASH_APP = `import { serve as listen } from '@hono/node-server';
import { serve } from '@upstash/workflow/hono';
import { Hono } from 'hono';

const app = new Hono();
app.post('/order', serve(async (context) => {
  const { id } = context.requestPayload;
  await context.run('reserve', () => \`reserved \${id}\`);
  await context.sleep('grace period', '10s');
  return context.run('receipt', () => \`receipt for \${id}\`);
}));
listen({ fetch: app.fetch, port: 3000 });`;

const BODY = `'{"id":"o-1","amount":42}'`;

/** Returns the token in the encoding that the published SDK of Upstash expects. */
export const upstashToken = ({ instanceId, token }: QuickstartAccess): string =>
  btoa(JSON.stringify({ UserID: instanceId, Password: token }));

const triggerCommand = ({ url, token }: QuickstartAccess, workflowUrl: string): string =>
  [
    `curl -X POST "${url}/v2/trigger/${workflowUrl}" \\`,
    `  -H "Authorization: Bearer ${token}" -H "Content-Type: application/json" \\`,
    `  -d ${BODY}`,
  ].join('\n');

/** Returns the steps of one option. */
export function stepsOf(option: QuickstartOption, access: QuickstartAccess): readonly QuickstartStep[] {
  const { url, token, currentSigningKey, nextSigningKey } = access;
  switch (option) {
    case 'typescript':
      return [
        { title: 'Save the URL and the token as everstep.env', code: `EVERSTEP_URL=${url}\nEVERSTEP_TOKEN=${token}` },
        { title: 'Save a workflow as order.mjs, and start it: node --env-file=everstep.env order.mjs', code: ORDER_APP },
        { title: 'Trigger a run in another terminal', code: triggerCommand(access, 'worker://shop/order') },
      ];
    case 'curl':
      return [
        { title: 'Set the URL and the token', code: `export EVERSTEP_URL=${url} EVERSTEP_TOKEN=${token}` },
        {
          title: 'Trigger a run of a workflow that is served by a worker named shop',
          code: [
            'curl -X POST "$EVERSTEP_URL/v2/trigger/worker://shop/order" \\',
            '  -H "Authorization: Bearer $EVERSTEP_TOKEN" -H "Content-Type: application/json" \\',
            `  -d ${BODY}`,
          ].join('\n'),
        },
        {
          title: 'List the latest runs',
          code: 'curl -H "Authorization: Bearer $EVERSTEP_TOKEN" "$EVERSTEP_URL/v2/workflows/logs?count=2"',
        },
      ];
    case 'upstash':
      return [
        {
          title: 'Save the settings as everstep.env, and install @upstash/workflow, hono and @hono/node-server from npm',
          code: [
            `QSTASH_URL=${url}`,
            `QSTASH_TOKEN=${upstashToken(access)}`,
            `QSTASH_CURRENT_SIGNING_KEY=${currentSigningKey}`,
            `QSTASH_NEXT_SIGNING_KEY=${nextSigningKey}`,
          ].join('\n'),
        },
        { title: 'Save a workflow as order.mjs, and start it: node --env-file=everstep.env order.mjs', code: UPSTASH_APP },
        {
          title: 'Trigger a run in another terminal: node --env-file=everstep.env trigger.mjs',
          code: [
            "import { Client } from '@upstash/workflow';",
            '',
            'const { QSTASH_URL: baseUrl, QSTASH_TOKEN: token } = process.env;',
            "await new Client({ baseUrl, token }).trigger({ url: 'http://127.0.0.1:3000/order', body: { id: 'o-1' } });",
          ].join('\n'),
        },
      ];
  }
}

/** Number of characters of a secret that are shown. */
const SHOWN_LENGTH = 6;

/** Returns the code with the secrets shortened, for the screen. */
export const shortenSecrets = (code: string, access: QuickstartAccess): string =>
  [upstashToken(access), access.token, access.currentSigningKey, access.nextSigningKey]
    .filter((secret) => secret.length > SHOWN_LENGTH && !secret.startsWith('<'))
    .reduce((text, secret) => text.replaceAll(secret, `${secret.slice(0, SHOWN_LENGTH)}…`), code);
