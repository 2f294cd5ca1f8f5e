/** The delivery thread: performs exchanges for the main thread, which decides what is sent and where. */
import type { LookupFunction } from 'node:net';
import { parentPort } from 'node:worker_threads';
import { FREE_REPLY_BYTES } from '../../../fairness/reply-budget.js';
import type { Log } from '../../../ports/log.js';
import { type ConnectionPolicy, Connections } from '../connections.js';
import { exchange } from '../exchange.js';
import {
  errorOf,
  type FoundAddresses,
  type MessageFromThread,
  type MessageToThread,
  Outbox,
  outcomeMessage,
  textToBytes,
} from './messages.js';

if (!parentPort) throw new Error('this file is started as a thread');
const port = parentPort;
const outbox = new Outbox<MessageFromThread>((messages) => port.postMessage(messages));

interface Running {
  readonly abort: AbortController;
  /** Continues to read the answer. */
  resume: () => void;
}
const running = new Map<number, Running>();
const lookUps = new Map<number, (found: FoundAddresses) => void>();
let lastLookUp = 0;

/** The only line that connections log is about a shortage; the main thread logs it. */
const log: Log = {
  debug() {},
  info() {},
  warn: ({ error }) => outbox.add({ kind: 'shortage', code: String(error) }),
  error() {},
};
const connections = new Connections(log);

const lookupAt =
  (scope: string, portOfHost: number): LookupFunction =>
  (hostname, options, callback) => {
    lookUps.set(++lastLookUp, (found) => {
      const addresses = found.kind === 'found' ? [...found.addresses] : [];
      const [first] = addresses;
      if (found.kind === 'failed') callback(errorOf(found.error), [], 0);
      else if (options.all === true) callback(null, addresses);
      else if (first) callback(null, first.address, first.family);
    });
    outbox.add({ kind: 'look-up', id: lastLookUp, scope, hostname, port: portOfHost });
  };

/** The main thread checks the origin of each request before it posts it, and each address before it answers a look-up. */
const policyOf = (scope: string): ConnectionPolicy => ({
  scope,
  check: () => ({ ok: true }),
  checkAddress: () => ({ ok: true }),
  isListed: () => true,
  lookupAt: (portOfHost) => lookupAt(scope, portOfHost),
});

async function perform({ id, scope, origin, request }: Extract<MessageToThread, { kind: 'exchange' }>): Promise<void> {
  const each: Running = { abort: new AbortController(), resume: () => {} };
  running.set(id, each);
  let hasLeft = false;
  const onSent = (): void => {
    hasLeft = true;
    outbox.add({ kind: 'sent', id });
  };
  const bytes = {
    canContinue(received: number, length: number | null, granted: () => void): boolean {
      if (received <= FREE_REPLY_BYTES) return true;
      each.resume = granted;
      outbox.add({ kind: 'received', id, bytes: received, length });
      return false;
    },
    release() {},
  };
  const body = request.body === null ? null : textToBytes(request.body);
  const { pool, release } = connections.acquire(policyOf(scope), origin);
  const outcome = await exchange(pool, { ...request, body, onSent }, bytes, each.abort.signal);
  release();
  running.delete(id);
  const lacksDescriptor = !hasLeft && connections.isWaitingForDescriptor(origin);
  outbox.add({ kind: 'ended', id, outcome: outcomeMessage(outcome, lacksDescriptor) });
}

function receive(message: MessageToThread): void {
  switch (message.kind) {
    case 'exchange':
      void perform(message);
      break;
    case 'abort':
      running.get(message.id)?.abort.abort();
      break;
    case 'continue':
      running.get(message.id)?.resume();
      break;
    case 'addresses':
      lookUps.get(message.id)?.(message.found);
      lookUps.delete(message.id);
  }
}

port.on('message', (messages: readonly MessageToThread[]) => {
  for (const message of messages) receive(message);
});
