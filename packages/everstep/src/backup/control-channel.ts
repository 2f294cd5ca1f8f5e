/**
 * The channel between the commands and the running server: a socket that only users with access to the data
 * directory can open. The server locks its files, so only the server can copy them. Their destination must not be set
 * through an API.
 *
 * A request is a line of JSON, and so is a response. Disconnecting before the response cancels the request.
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

/** File that contains the path of the socket, which may have to be shorter than a path in the data directory. */
const ADDRESS_FILE = 'control.json';
const SOCKET_FILE = 'control.sock';
/** Length of a socket path that every operating system supports. */
const MAX_SOCKET_PATH_BYTES = 100;
const OWNER_ONLY_MASK = 0o177;
const MAX_REQUEST_BYTES = 64 * 1024;

export interface BackupRequest extends BackupParts {
  /** Absolute path of the backup on the server's machine. */
  readonly to: string;
}

export interface RotateRequest {
  /** Whether the rotation revokes all permanent tokens issued before it. */
  readonly endTokens: boolean;
  /** Whether to encrypt the secrets without replacing any key. */
  readonly onlyEncrypt: boolean;
}

export interface RotateResult {
  /** Names of the secrets with a new key. */
  readonly replaced: readonly string[];
  /** Number of rows that were encrypted under another key, or not at all. */
  readonly encrypted: number;
}

type Request =
  | { readonly kind: 'back-up'; readonly backup: BackupRequest }
  | { readonly kind: 'rotate-secrets'; readonly rotate: RotateRequest };
type CommandResult =
  | { readonly kind: 'done'; readonly written: readonly string[] }
  | { readonly kind: 'rotated'; readonly rotation: RotateResult }
  | { readonly kind: 'refused'; readonly message: string };

export interface ControlChannel {
  /** Aborts the command in progress, and resolves when it has ended. */
  close(): Promise<void>;
}

export interface ControlOptions {
  readonly dataDir: string;
  /** Makes a backup. Resolves with the paths written. A rejection is reported to the client. */
  readonly backUp: (request: BackupRequest, signal: AbortSignal) => Promise<readonly string[]>;
  readonly rotate: (request: RotateRequest) => Promise<RotateResult>;
}

async function createSocketPath(dataDir: string): Promise<string> {
  if (process.platform === 'win32') return `\\\\.\\pipe\\everstep-${randomUUID()}`;
  const path = join(dataDir, SOCKET_FILE);
  return Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES ? path : join(await mkdtemp(join(tmpdir(), 'everstep-')), SOCKET_FILE);
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
    const backupParts = { credentials: fields.get('credentials') !== false, secretsKey: fields.get('secretsKey') !== false };
    return { kind: 'back-up', backup: { to, ...backupParts } };
  } catch {
    return null;
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Creates the socket with its final mode, because other users could connect before a later `chmod`. `listen` creates the socket
 * before it returns, so the mask affects no other files, except files of other threads, which get fewer permissions.
 */
export async function listenPrivately(server: Server, path: string): Promise<void> {
  const listeningPromise = once(server, 'listening');
  const mask = process.umask(OWNER_ONLY_MASK);
  try {
    server.listen(path);
  } finally {
    process.umask(mask);
  }
  await listeningPromise;
}

/** Listens in the data directory of a server with an open store. Rejects if the file system does not support sockets. */
export async function listenForCommands({ dataDir, backUp, rotate }: ControlOptions): Promise<ControlChannel> {
  const path = await createSocketPath(dataDir);
  const stopController = new AbortController();
  const sockets = new Set<Socket>();
  const pendingResponses = new Set<Promise<unknown>>();
  let isBusy = false;

  async function perform(line: string, disconnectSignal: AbortSignal): Promise<CommandResult> {
    const request = parseRequest(line);
    if (!request)
      return {
        kind: 'refused',
        message: 'The running server has a different version and does not support this command. Use the command of its version.',
      };
    if (isBusy) return { kind: 'refused', message: 'Another backup or rotation is in progress. Try again when it is done.' };
    isBusy = true;
    try {
      if (request.kind === 'rotate-secrets') return { kind: 'rotated', rotation: await rotate(request.rotate) };
      return { kind: 'done', written: await backUp(request.backup, AbortSignal.any([disconnectSignal, stopController.signal])) };
    } catch (error) {
      return {
        kind: 'refused',
        message: stopController.signal.aborted
          ? 'The server stopped before the command was done. Run the command again.'
          : messageOf(error),
      };
    } finally {
      isBusy = false;
    }
  }

  const server: Server = createServer((socket) => {
    const disconnectController = new AbortController();
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => {
      sockets.delete(socket);
      disconnectController.abort(new Error('the client disconnected'));
    });
    let line = '';
    const readChunk = (chunk: string): void => {
      line += chunk;
      if (line.length > MAX_REQUEST_BYTES) socket.destroy();
      if (!line.includes('\n')) return;
      socket.off('data', readChunk);
      // Further data is read and ignored, so that the end of the connection is noticed.
      socket.resume();
      const response = perform(line, disconnectController.signal).then((result) => {
        socket.end(`${JSON.stringify(result)}\n`);
        pendingResponses.delete(response);
      });
      pendingResponses.add(response);
    };
    socket.setEncoding('utf8').on('data', readChunk);
  });
  // Removes a socket left by a crash. The store's lock ensures that no server listens on it.
  if (process.platform !== 'win32') await rm(path, { force: true });
  await listenPrivately(server, path);
  async function close(): Promise<void> {
    stopController.abort(new Error('the server is stopping'));
    const closePromise = new Promise((resolve) => server.close(resolve));
    await Promise.all(pendingResponses);
    for (const socket of sockets) socket.destroySoon();
    await closePromise;
    await rm(join(dataDir, ADDRESS_FILE), { force: true });
    // Closing the server removed the socket. A directory that was created for the socket is removed as well.
    if (process.platform !== 'win32' && dirname(path) !== dataDir) await rmdir(dirname(path)).catch(() => {});
  }
  try {
    await writePrivately(join(dataDir, ADDRESS_FILE), `${JSON.stringify({ socket: path })}\n`);
  } catch (error) {
    await close();
    throw error;
  }
  return { close };
}

async function readSocketPath(dataDir: string): Promise<string | null> {
  try {
    const value: unknown = JSON.parse(await readFile(join(dataDir, ADDRESS_FILE), 'utf8'));
    const socketPath = typeof value === 'object' && value !== null && 'socket' in value ? value.socket : null;
    return typeof socketPath === 'string' ? socketPath : null;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Connects to the socket. Resolves with false if no server listens. Rejects with BackupError. */
function untilConnected(socket: Socket, path: string): Promise<boolean> {
  return new Promise<boolean>((resolve, reject) => {
    socket.once('connect', () => resolve(true));
    socket.once('close', () => resolve(false));
    socket.once('error', (error) => {
      // A killed server leaves the file behind.
      if (['ECONNREFUSED', 'ENOENT'].includes(codeOf(error))) resolve(false);
      else reject(new BackupError(`The running server cannot be reached at ${path}: ${error.message}.`, { cause: error }));
    });
  });
}

/**
 * Sends a request to the server that uses the data directory. Resolves with null if none is running. Rejects with BackupError, or
 * if the signal is aborted. An abort disconnects, which cancels the request.
 */
async function sendRequest(dataDir: string, request: object, signal?: AbortSignal): Promise<CommandResult | null> {
  const path = await readSocketPath(dataDir);
  if (path === null) return null;
  signal?.throwIfAborted();
  const socket = connect(path);
  const disconnect = () => socket.destroy();
  signal?.addEventListener('abort', disconnect, { once: true });
  try {
    const isConnected = await untilConnected(socket, path);
    signal?.throwIfAborted();
    if (!isConnected) return null;
    socket.on('error', () => {});
    socket.write(`${JSON.stringify(request)}\n`);
    // The end of the socket ends the lines only if it was not destroyed, so an abort ends them itself.
    for await (const line of createInterface({ input: socket, ...(signal ? { signal } : {}) })) {
      const outcome: CommandResult = JSON.parse(line);
      if (outcome.kind === 'refused') throw new BackupError(outcome.message);
      return outcome;
    }
    signal?.throwIfAborted();
    throw new BackupError('The server ended before the command was done. Run the command again.');
  } finally {
    signal?.removeEventListener('abort', disconnect);
  }
}

/**
 * Requests a backup from the server that uses the data directory. Resolves with the paths written, or null if no server is
 * running. Rejects with BackupError. An abort of the signal cancels the backup.
 */
export async function requestBackup(
  dataDir: string,
  request: BackupRequest,
  signal?: AbortSignal,
): Promise<readonly string[] | null> {
  const reply = await sendRequest(dataDir, request, signal);
  return reply?.kind === 'done' ? reply.written : null;
}

/**
 * Requests a rotation of the secrets from the server that uses the data directory. Resolves with null if no server is running.
 * Rejects with BackupError.
 */
export async function requestRotation(dataDir: string, request: RotateRequest): Promise<RotateResult | null> {
  const reply = await sendRequest(dataDir, { kind: 'rotate-secrets', ...request });
  return reply?.kind === 'rotated' ? reply.rotation : null;
}
