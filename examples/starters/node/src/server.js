import { createServer } from 'node:http';
import { serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { processOrder } from './workflow.js';

const handleOrder = toNodeHandler(serve(processOrder));

const server = createServer((request, response) => {
  if (request.url === '/order') handleOrder(request, response);
  else response.writeHead(404).end();
});

const port = Number(process.env.PORT ?? 3000);
server.listen(port, () => console.log(`Workflow endpoint: http://127.0.0.1:${port}/order`));
