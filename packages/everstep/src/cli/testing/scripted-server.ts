/** Test fixture: runs a command on a server that returns given responses. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { runInProcess } from './in-process.js';
import type { EndedProcess } from './spawned-cli.js';

export interface ScriptedResponse {
  /** Default: 200. */
  readonly status?: number;
  readonly body: unknown;
}

/** Runs a command. The server returns the responses in order, and the last one to all further requests. */
export async function runOn(responses: readonly ScriptedResponse[], ...args: readonly string[]): Promise<EndedProcess> {
  let requestCount = 0;
  const server = createServer((request, response) => {
    const { status = 200, body } = responses[requestCount] ?? responses.at(-1) ?? { status: 500, body: null };
    requestCount++;
    request.resume();
    request.on('end', () => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const env = { EVERSTEP_URL: `http://127.0.0.1:${port}`, EVERSTEP_TOKEN: 'token' };
    return await runInProcess(args, { cwd: tmpdir(), env });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
