import { serve } from '@everstep/sdk';
import { toHonoHandler } from '@everstep/sdk/hono';
import { serve as serveHttp } from '@hono/node-server';
import { Hono } from 'hono';
import { processOrder } from './workflow.ts';

const app = new Hono();

app.all('/order', toHonoHandler(serve(processOrder)));
app.get('/', (context) => context.json({ status: 'ok' }));

const port = Number(process.env.PORT ?? 3000);
serveHttp({ fetch: app.fetch, port }, () => console.log(`Workflow endpoint: http://127.0.0.1:${port}/order`));
