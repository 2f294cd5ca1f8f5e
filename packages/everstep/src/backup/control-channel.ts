/**
 * How the command reaches the running service: a socket that those alone can open who may use the data directory. The
 * service has its files locked for itself, so it must make the copies; and where they go is not for an API to say.
 *
 * A request is a line of JSON, an answer too. Who goes away before the answer takes the request back.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, rmdir } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { writePrivately } from '../bootstrap/private-file.js';
import { codeOf } from '../bootstrap/start-error.js';
import { BackupError, type BackupParts } from './contents.js';

/** Says where the socket is: its path may have to be shorter than one in the data directory. */
const ADDRESS_FILE = 'control.json';
const SOCKET = 'control.sock';
/** What every system allows for the path of a socket. */
const MAX_SOCKET_PATH_BYTES = 100;
const OWNER_ONLY_MASK = 0o177;
const MAX_REQUEST_BYTES = 64 * 1024;

export interface BackupRequest extends BackupParts {
  /** Absolute, on the service's machine. */
  readonly to: string;
}

export interface RotateRequest {
  /** Whether permanent tokens that were issued until now are refused from then on. */
  readonly endTokens: boolean;
  /** Encrypts only: no key is replaced. */
  readonly onlyEncrypt: boolean;
}

export interface RotateAnswer {
  /** Names of the secrets that have a new key. */
  readonly replaced: readonly string[];
  /** Rows that were encrypted under another key, or not at all. */
  readonly encrypted: number;
}

type Request =
  | { readonly kind: 'back-up'; readonly backup: BackupRequest }
  | { readonly kind: 'rotate-secrets'; readonly rotate: RotateRequest };
type Answer =
  | { readonly kind: 'done'; readonly written: readonly string[] }
  | { readonly kind: 'rotated'; readonly rotation: RotateAnswer }
  | { readonly kind: 'refused'; readonly message: string };

export interface ControlChannel {
  /** Ends what is under way, and resolves when it has ended. */
  close(): Promise<void>;
}

export interface ControlOptions {
  readonly dataDir: string;
  /** Resolves with what was written; what it rejects with is told to who asked. */
  readonly backUp: (request: BackupRequest, signal: AbortSignal) => Promise<readonly string[]>;
  readonly rotate: (request: RotateRequest) => Promise<RotateAnswer>;
}

async function socketIn(dataDir: string): Promise<string> {
  if (process.platform === 'win32') return `\\\\.\\pipe\\everstep-${randomUUID()}`;
  const path = join(dataDir, SOCKET);
  return Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES ? path : join(await mkdtemp(join(tmpdir(), 'everstep-')), SOCKET);
}

function parseRequest(line: string): Request | null {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null) return null;
    const fields = new Map<string, unknown>(Object.entries(value));
    if (fields.get('kind') === 'rotate-secrets') {
      const rotate = { endTokens: fields.get('endTokens') === true, onlyEncrypt: fields.get('onlyEncrypt') === true };
      return { kind: 'rotate-secrets', rotate };
    }
    const to = fields.get('to');
    if (typeof to !== 'string') return null;
    const parts = { credentials: fields.get('credentials') !== false, secretsKey: fields.get('secretsKey') !== false };
    return { kind: 'back-up', backup: { to, ...parts } };
  } catch {
    return null;
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * The socket has its mode from the moment at which it is there: with a `chmod` after that, others could connect in between.
 * `listen` makes it before it returns, so nothing else is made with this mask but by other threads, whose files lose rights.
 */
export async function listenPrivately(server: Server, path: string): Promise<void> {
  const listening = once(server, 'listening');
  const mask = process.umask(OWNER_ONLY_MASK);
  try {
    server.listen(path);
  } finally {
    process.umask(mask);
  }
  await listening;
}

/** Listens in the data directory of a service that has its store open. Rejects when the file system takes no socket. */
export async function listenForCommands({ dataDir, backUp, rotate }: ControlOptions): Promise<ControlChannel> {
  const path = await socketIn(dataDir);
  const stopping = new AbortController();
  const sockets = new Set<Socket>();
  const answering = new Set<Promise<unknown>>();
  let isBusy = false;

  async function perform(line: string, gone: AbortSignal): Promise<Answer> {
    const request = parseRequest(line);
    if (!request) return { kind: 'refused', message: 'the running service does not know this request: it is of another version' };
    if (isBusy) return { kind: 'refused', message: 'Another back-up is being made: try again when it is done.' };
    isBusy = true;
    try {
      if (request.kind === 'rotate-secrets') return { kind: 'rotated', rotation: await rotate(request.rotate) };
      return { kind: 'done', written: await backUp(request.backup, AbortSignal.any([gone, stopping.signal])) };
    } catch (error) {
      return { kind: 'refused', message: stopping.signal.aborted ? 'The service stopped meanwhile.' : messageOf(error) };
    } finally {
      isBusy = false;
    }
  }

  const server: Server = createServer((socket) => {
    const gone = new AbortController();
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => {
      sockets.delete(socket);
      gone.abort(new Error('nobody waits for the back-up any more'));
    });
    let line = '';
    const take = (chunk: string): void => {
      line += chunk;
      if (line.length > MAX_REQUEST_BYTES) socket.destroy();
      if (!line.includes('\n')) return;
      socket.off('data', take);
      // What else comes is read, so that its end is seen.
      socket.resume();
      const answered = perform(line, gone.signal).then((answer) => {
        socket.end(`${JSON.stringify(answer)}\n`);
        answering.delete(answered);
      });
      answering.add(answered);
    };
    socket.setEncoding('utf8').on('data', take);
  });
  // What a crash has left: the store's lock says that nobody listens there.
  if (process.platform !== 'win32') await rm(path, { force: true });
  await listenPrivately(server, path);
  await writePrivately(join(dataDir, ADDRESS_FILE), `${JSON.stringify({ socket: path })}\n`);
  return {
    async close() {
      stopping.abort(new Error('the service stops'));
      const closed = new Promise((resolve) => server.close(resolve));
      await Promise.all(answering);
      for (const socket of sockets) socket.destroySoon();
      await closed;
      await rm(join(dataDir, ADDRESS_FILE), { force: true });
      // The socket went with the server; a directory that was made for it goes too.
      if (process.platform !== 'win32' && dirname(path) !== dataDir) await rmdir(dirname(path)).catch(() => {});
    },
  };
}

async function socketOf(dataDir: string): Promise<string | null> {
  try {
    const value: unknown = JSON.parse(await readFile(join(dataDir, ADDRESS_FILE), 'utf8'));
    const named = typeof value === 'object' && value !== null && 'socket' in value ? value.socket : null;
    return typeof named === 'string' ? named : null;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Asks the service that runs on the data directory; null when no service runs there. Rejects with BackupError. */
async function ask(dataDir: string, request: object): Promise<Answer | null> {
  const path = await socketOf(dataDir);
  if (path === null) return null;
  const socket = connect(path);
  const connected = await new Promise<boolean>((resolve, reject) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', (error) => {
      // The file is left of a service that was killed.
      if (['ECONNREFUSED', 'ENOENT'].includes(codeOf(error))) resolve(false);
      else reject(new BackupError(`The running service cannot be reached at ${path}: ${error.message}.`, { cause: error }));
    });
  });
  if (!connected) return null;
  socket.on('error', () => {});
  socket.write(`${JSON.stringify(request)}\n`);
  for await (const line of createInterface({ input: socket })) {
    const answer: Answer = JSON.parse(line);
    if (answer.kind === 'refused') throw new BackupError(answer.message);
    return answer;
  }
  throw new BackupError('The service ended before it was done; run the command again.');
}

/**
 * Asks the service that runs on the data directory for a back-up: resolves with what was written, or null when no service
 * runs there. Rejects with BackupError when it could not.
 */
export async function askForBackup(dataDir: string, request: BackupRequest): Promise<readonly string[] | null> {
  const answer = await ask(dataDir, request);
  return answer?.kind === 'done' ? answer.written : null;
}

/** The same for a rotation of its secrets. */
export async function askToRotate(dataDir: string, request: RotateRequest): Promise<RotateAnswer | null> {
  const answer = await ask(dataDir, { kind: 'rotate-secrets', ...request });
  return answer?.kind === 'rotated' ? answer.rotation : null;
}
