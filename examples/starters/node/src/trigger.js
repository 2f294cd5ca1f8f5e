import { Client } from '@everstep/sdk';

const workflowUrl = process.env.WORKFLOW_URL ?? `http://127.0.0.1:${process.env.PORT ?? 3000}/order`;

// The client reads EVERSTEP_URL and EVERSTEP_TOKEN.
const client = new Client();
console.log(await client.trigger(workflowUrl, { body: { id: 'o-1', amountCents: 4200 }, waitForResult: '30s' }));
