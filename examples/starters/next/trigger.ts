import { Client } from '@everstep/sdk';
import type { Order, Receipt } from './workflow.ts';

const workflowUrl = process.env.WORKFLOW_URL ?? `http://127.0.0.1:${process.env.PORT ?? 3000}/order`;
const order: Order = { id: 'o-1', amountCents: 4200 };

// The client reads EVERSTEP_URL and EVERSTEP_TOKEN.
const client = new Client();
console.log(await client.trigger<Receipt>(workflowUrl, { body: order, waitForResult: '30s' }));
