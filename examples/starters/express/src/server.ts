import { serve } from '@everstep/sdk';
import { toExpressHandler } from '@everstep/sdk/express';
import express from 'express';
import { processOrder } from './workflow.ts';

const app = express();

// Mount workflows before express.json(): a signature covers the unparsed body.
app.all('/order', toExpressHandler(serve(processOrder)));
app.use(express.json());
app.get('/', (_request, response) => {
  response.json({ status: 'ok' });
});

const port = Number(process.env.PORT ?? 3000);
app.listen(port, () => console.log(`Workflow endpoint: http://127.0.0.1:${port}/order`));
