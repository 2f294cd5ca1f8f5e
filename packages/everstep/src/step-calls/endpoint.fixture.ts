/** A real endpoint on a free port, with callers for it. Test files in one process share it, one after the other. */
import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import type { StepRequest } from '@everstep/sdk/protocol';
import { SeededRandom } from '../clock/testing/seeded-random.js';
import type { DeliveryFailure } from '../engine/runs/run.js';
import type { Message, MessageOutcome, MessageSender } from '../ports/message-sender.js';
import type { StepCall, StepCaller, StepOutcome } from '../ports/step-caller.js';
import { createAddressPolicy } from './addresses/address-policy.js';
import type { OutboundOptions } from './http-step-caller.js';
import { createOutbound } from './outbound.js';

export const NOW = Date.now();
export const KEYS = { current: 'sig_current', next: 'sig_next' };
export const PROTOCOL_HEADERS = { 'svc-workflow-protocol': '1', 'content-type': 'application/json' };
export const REPLY = {
  protocol: 1,
  kind: 'progress',
  base: 0,
  done: [],
  advanced: false,
  planned: [{ stepId: 1, name: 'a', type: 'Run' }],
};

const LOCAL = createAddressPolicy({ allowLoopback: true, allow: [] });

export function outboundOptions(changes: Partial<OutboundOptions> = {}): OutboundOptions {
  return {
    signingKeys: () => KEYS,
    addressPolicyOf: () => LOCAL,
    now: () => NOW,
    random: new SeededRandom(1),
    log: { debug() {}, info() {}, warn() {}, error() {} },
    ...changes,
  };
}

export const callerWith = (changes: Partial<OutboundOptions> = {}): StepCaller =>
  createOutbound(outboundOptions(changes)).stepCaller;
export function senderWith(changes: Partial<OutboundOptions> = {}): MessageSender & { close(): Promise<void> } {
  const { messageSender, close } = createOutbound(outboundOptions(changes));
  return { send: (message, signal) => messageSender.send(message, signal), close };
}

export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}
export type Respond = (response: ServerResponse) => void;

export const respondWith =
  (status: number, headers: Record<string, string>, body = ''): Respond =>
  (response) =>
    response.writeHead(status, headers).end(body);
export const respondWithPlan: Respond = respondWith(200, PROTOCOL_HEADERS, JSON.stringify(REPLY));

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { method = '', url = '', headers } = request;
    endpoint.received.push({ method, url, headers, body: Buffer.concat(chunks) });
    endpoint.respond(response);
  });
});
// The sender closes idle connections. If both sides did, a slow machine could send a request on one that is being closed.
server.keepAliveTimeout = 0;
server.on('connection', () => endpoint.connections++);
// Without an address to look up, the server listens immediately.
const { port } = server.listen(0).address() as AddressInfo;

/** The next response of the endpoint, and the requests that it received. */
export const endpoint = {
  origin: `http://127.0.0.1:${port}`,
  port,
  respond: respondWithPlan,
  received: [] as ReceivedRequest[],
  connections: 0,
};

export const caller = callerWith();
export const sender = senderWith();

let fileCount = 0;
/** Closes the endpoint and the callers after the last file that uses them. Each file calls it once, outside of its tests. */
export function useSharedEndpoint(): void {
  fileCount++;
  after(async () => {
    if (--fileCount > 0) return;
    await caller.close();
    await sender.close();
    server.closeAllConnections();
    server.close();
  });
}

export const REQUEST: StepRequest = {
  protocol: 1,
  run: { key: 'k', id: 'order-7', createdAt: NOW - 5, workflowUrl: `${endpoint.origin}/w?x=1`, labels: ['a'] },
  messageId: 'msg_1',
  retried: 2,
  maxRetries: 3,
  target: null,
  known: 1,
  journal: { from: 0, length: 0, entries: [] },
  input: { body: { encoding: 'utf8', data: 'grüße' }, headers: {} },
};

export function stepCall(changes: Partial<StepCall> = {}): StepCall {
  return {
    instanceId: 'qi_1',
    dialect: 'native',
    workflowUrl: `${endpoint.origin}/w?x=1`,
    request: REQUEST,
    forwardHeaders: {},
    timeoutMs: 5_000,
    recordedSteps: [],
    openSteps: [],
    hasIntroducedItself: true,
    hidesData: false,
    ...changes,
  };
}

export function message(changes: Partial<Message> = {}): Message {
  return {
    instanceId: 'qi_1',
    dialect: 'native',
    method: 'POST',
    url: `${endpoint.origin}/hook?x=1`,
    headers: {},
    body: null,
    timeoutMs: 5_000,
    maxResponseBytes: 64 * 1024,
    signed: null,
    headerMode: 'exact',
    ...changes,
  };
}

export async function callWith(respond: Respond, changes: Partial<StepCall> = {}): Promise<StepOutcome> {
  endpoint.respond = respond;
  endpoint.received = [];
  return caller.call(stepCall(changes), new AbortController().signal);
}

export function failureOf(outcome: StepOutcome | MessageOutcome): DeliveryFailure {
  assert.equal(outcome.kind, 'failure');
  return outcome.failure;
}
