/** Reads the messages of workers. A worker is a program of another party, so everything is checked before it is used. */
import {
  CONNECTION_VERSION,
  type HelloFrame,
  JsonBoundsError,
  PROTOCOL_VERSION,
  parseJson,
  type RejectionCode,
  WORKER_APP,
  WORKER_WORKFLOW,
} from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';

/** A frame of a worker. Replies are checked later, together with their request. */
export type ReceivedFrame =
  | { readonly kind: 'answer'; readonly id: number; readonly reply: unknown; readonly bytes: number }
  | { readonly kind: 'noticed'; readonly id: number; readonly outcome: unknown }
  | { readonly kind: 'too-long'; readonly id: number; readonly bytes: number }
  | { readonly kind: 'received'; readonly through: number }
  | { readonly kind: 'pong' }
  | { readonly kind: 'drain' }
  /** A kind that this version does not support. A newer worker sends it only as additional information. */
  | { readonly kind: 'unknown' };

type Fields = Readonly<Record<string, unknown>>;

const {
  maxWorkerFrames: MAX_FRAMES,
  maxWorkerWorkflows: MAX_WORKFLOWS,
  maxWorkerConcurrency: MAX_CONCURRENCY,
  maxWorkerTextLength: MAX_TEXT_LENGTH,
  maxTokenLength: MAX_TOKEN_LENGTH,
} = LIMITS;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_TEXT_LENGTH && !/\p{Cc}/u.test(value);

/** Returns the frames of a message, or the reason why it is malformed. */
function parseMessage(text: string): readonly Fields[] | string {
  let message: unknown;
  try {
    message = parseJson(text);
  } catch (error) {
    return error instanceof JsonBoundsError ? `the message exceeds a limit: ${error.message}` : 'the message is not JSON';
  }
  if (!Array.isArray(message) || message.length === 0) return 'the message is not an array of frames';
  if (message.length > MAX_FRAMES) return `the message has more than ${MAX_FRAMES} frames`;
  return message.every(isFields) ? message : 'the message is not an array of frames';
}

function readFrame(frame: Fields, bytes: number): ReceivedFrame | string {
  const { kind, id } = frame;
  switch (kind) {
    case 'answer':
      return isCount(id) ? { kind, id, reply: frame.reply, bytes } : 'a reply has no id';
    case 'noticed':
      return isCount(id) ? { kind, id, outcome: frame.outcome } : 'a reply has no id';
    case 'too-long':
      return isCount(id) && isCount(frame.bytes) ? { kind, id, bytes: frame.bytes } : 'a reply has no id';
    case 'received':
      return isCount(frame.through) ? { kind, through: frame.through } : 'a frame "received" has no "through"';
    case 'pong':
    case 'drain':
      return { kind };
    default:
      return typeof kind === 'string' ? { kind: 'unknown' } : 'a frame has no kind';
  }
}

/** Returns the frames of a message of a connected worker, or the reason why it is malformed. */
export function readFrames(text: string): readonly ReceivedFrame[] | string {
  const message = parseMessage(text);
  if (typeof message === 'string') return message;
  const frames: ReceivedFrame[] = [];
  const bytes = Math.ceil(text.length / message.length);
  for (const value of message) {
    const frame = readFrame(value, bytes);
    if (typeof frame === 'string') return frame;
    frames.push(frame);
  }
  return frames;
}

export type HelloResult =
  | { readonly ok: true; readonly hello: HelloFrame }
  | { readonly ok: false; readonly code: RejectionCode; readonly message: string };

const badRequest = (message: string): HelloResult => ({ ok: false, code: 'bad-request', message });

const versionText = (version: unknown): string => (typeof version === 'number' ? String(version) : 'unknown');

function versionProblem({ connection, protocol }: Fields): string | null {
  if (connection !== CONNECTION_VERSION)
    return `the worker uses version ${versionText(connection)} of worker connections, but Everstep uses version ${CONNECTION_VERSION}`;
  if (protocol !== PROTOCOL_VERSION)
    return `the worker uses version ${versionText(protocol)} of the step protocol, but Everstep uses version ${PROTOCOL_VERSION}`;
  return null;
}

const isAbove = (version: unknown, ownVersion: number): boolean => typeof version === 'number' && version > ownVersion;
const isNewerWorker = ({ connection, protocol }: Fields): boolean =>
  isAbove(connection, CONNECTION_VERSION) || (connection === CONNECTION_VERSION && isAbove(protocol, PROTOCOL_VERSION));

/** Reads the first message of a worker. */
export function readHello(text: string): HelloResult {
  const message = parseMessage(text);
  if (typeof message === 'string') return badRequest(message);
  const [frame] = message;
  if (!frame || message.length > 1 || frame.kind !== 'hello') return badRequest('the first message must be one frame "hello"');
  const problem = versionProblem(frame);
  if (problem !== null) {
    const outdatedPart = isNewerWorker(frame) ? 'Everstep' : '@everstep/sdk in this app';
    return { ok: false, code: 'unsupported-version', message: `${problem}: upgrade ${outdatedPart}` };
  }
  const { token, app, workflows, maxConcurrency, workerId, host, version, sdk } = frame;
  if (typeof token !== 'string' || token.length > MAX_TOKEN_LENGTH)
    return badRequest('"token" must be the token of a queue instance');
  if (typeof app !== 'string' || !WORKER_APP.test(app))
    return badRequest('"app" must consist of at most 63 lowercase letters, digits, "-", "_" and "."');
  if (!Array.isArray(workflows) || workflows.length === 0 || workflows.length > MAX_WORKFLOWS)
    return badRequest(`"workflows" must name 1 to ${MAX_WORKFLOWS} workflows`);
  const names = workflows.filter((name): name is string => typeof name === 'string' && WORKER_WORKFLOW.test(name));
  if (names.length !== workflows.length) return badRequest('"workflows" contains an invalid name');
  if (!isCount(maxConcurrency) || maxConcurrency < 1 || maxConcurrency > MAX_CONCURRENCY)
    return badRequest(`"maxConcurrency" must be a whole number from 1 to ${MAX_CONCURRENCY}`);
  if (!isText(workerId) || workerId === '' || !isText(sdk))
    return badRequest(`"workerId" and "sdk" must be strings of at most ${MAX_TEXT_LENGTH} characters without control characters`);
  if ((host !== undefined && !isText(host)) || (version !== undefined && !isText(version)))
    return badRequest(`"host" and "version" must be strings of at most ${MAX_TEXT_LENGTH} characters without control characters`);
  return {
    ok: true,
    hello: {
      ...{ kind: 'hello', connection: CONNECTION_VERSION, protocol: PROTOCOL_VERSION },
      ...{ token, app, workflows: names, maxConcurrency, workerId, sdk },
      ...(host === undefined ? {} : { host }),
      ...(version === undefined ? {} : { version }),
    },
  };
}
