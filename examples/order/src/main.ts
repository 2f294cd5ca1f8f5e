/**
 * Web server of the example shop. Run it next to Everstep:
 *   PORT=3000 node --env-file=everstep.env examples/order/dist/main.js
 *
 *   POST /order             the order workflow; accepts requests from Everstep only
 *   POST /shipping          the shipping workflow, which the order workflow invokes
 *   POST /card-processor    simulated third-party API for card payments
 *   POST /bank/up, /down    starts and stops the simulated bank
 *   GET  /apologies/<run>   the mail that the customer of a failed order received
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { CardProcessor } from './card-processor.js';
import { orderFailed } from './order-failure.js';
import { orderWorkflow } from './order-workflow.js';
import { shippingWorkflow } from './shipping-workflow.js';
import { Shop } from './shop.js';

const shop = new Shop();
const cardProcessor = new CardProcessor();
// `serve` reads the signing keys from the environment: EVERSTEP_CURRENT_SIGNING_KEY and EVERSTEP_NEXT_SIGNING_KEY.
const handleOrder = toNodeHandler(serve(orderWorkflow(shop), { failureFunction: orderFailed(shop) }));
const handleShipping = toNodeHandler(serve(shippingWorkflow(shop)));

function respond(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
}

function respondWithApology(response: ServerResponse, runId: string): void {
  const apology = shop.apologyFor(runId);
  respond(
    response,
    apology === undefined ? 404 : 200,
    apology === undefined ? { error: 'no apology was sent for this run' } : { apology },
  );
}

function route(request: IncomingMessage, response: ServerResponse): void {
  const path = request.url?.split('?')[0] ?? '';
  const bank = request.method === 'POST' ? /^\/bank\/(up|down)$/.exec(path)?.[1] : undefined;
  const apologyFor = /^\/apologies\/([\w-]+)$/.exec(path)?.[1];
  if (path === '/order') {
    handleOrder(request, response);
  } else if (path === '/shipping') {
    handleShipping(request, response);
  } else if (path === '/card-processor' && request.method === 'POST') {
    cardProcessor.handle(request, response).catch(() => response.destroy());
  } else if (bank) {
    shop.bankIsUp = bank === 'up';
    respond(response, 200, { bank });
  } else if (apologyFor) {
    respondWithApology(response, apologyFor);
  } else {
    respond(response, 404, { error: 'Unknown path. Use POST /order, /shipping, /card-processor, /bank/up or /bank/down.' });
  }
}

const server = createServer(route);
const stop = () => {
  server.close();
  server.closeAllConnections();
  if (process.connected) process.disconnect();
};
process.once('SIGTERM', stop);
process.once('SIGINT', stop);
// When another program started this one: send it the port, and stop when it stops.
process.once('disconnect', stop);

server.once('error', (error) => {
  console.error(`The shop could not start its server: ${error.message}`);
  process.exit(1);
});
server.listen(Number(process.env.PORT ?? 3000), process.env.HOST ?? '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  if (process.send) process.send({ port });
  else console.log(`The shop accepts orders at http://127.0.0.1:${port}/order`);
});
