// npm run fuzz: sends malformed requests to every operation of a test server, and malformed responses from an endpoint.
import { parseArgs } from 'node:util';
import { Campaign } from './fuzz/campaign.mjs';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    // Number of the first request. With --requests 1, only this request is sent.
    from: { type: 'string', default: '0' },
    heap: { type: 'string', default: '256' },
  },
});
const [requests, seed, from, heapMb] = [values.requests, values.seed, values.from, values.heap].map(Number);
if (![requests, seed, from, heapMb].every((value) => Number.isSafeInteger(value) && value >= 0)) {
  process.stderr.write(
    'Usage: npm run fuzz -- [--requests 10000] [--seed 1] [--from 0] [--heap 256]. All values are whole numbers.\n',
  );
  process.exit(2);
}

const campaign = new Campaign({ requests, seed, from, heapMb, print: (line) => process.stdout.write(`${line}\n`) });
const findings = await campaign.run();
for (const { kind, message, request } of findings) {
  process.stdout.write(`\n--- ${kind}: ${message}\n`);
  if (!request) continue;
  process.stdout.write(
    `    request ${request.n}: ${request.operationId}, damage: ${request.damage}; repeat with: npm run fuzz -- --seed ${seed} --from ${request.n} --requests 1\n`,
  );
  process.stdout.write(`    ${request.bytes}\n`);
}
process.stdout.write(`\n${campaign.summary().join('\n')}\n${requests} requests with seed ${seed}, ${findings.length} findings\n`);
process.exitCode = findings.length > 0 ? 1 : 0;
