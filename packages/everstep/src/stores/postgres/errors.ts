/** Why a database cannot be used or a write was not made, in words for the operator and without a password. */
import { StoreUnavailableError } from '../../ports/store-unavailable.js';

export type StoreOpenErrorCode = 'unreachable' | 'refused' | 'newer-schema' | 'unsupported-server' | 'not-empty';

/** Why the database cannot be used as a store; the message is fit for the operator. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError';
  readonly code: StoreOpenErrorCode;
  constructor(code: StoreOpenErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** SQLSTATE of an error of the server; null for others, such as a lost connection. */
export function sqlStateOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  return /^[0-9A-Z]{5}$/.test(error.code) ? error.code : null;
}

/** The constraint that an error of the server names; null for none. */
export function constraintOf(error: unknown): string | null {
  return error instanceof Error && 'constraint' in error && typeof error.constraint === 'string' ? error.constraint : null;
}

/** Of the server: it ends connections, takes none, or takes no writes (it is a replica by now, and another is the primary). */
const AWAY_STATES = /^(08...|57P0[1-5]|53300|25006)$/;
/** Of the network, as Node tells it. */
const AWAY_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]);
/** Of the library, which gives them no codes. */
const AWAY_WORDS =
  /^(Connection terminated|timeout e|Query read timeout|Client has encountered a connection error|Client was closed)/;

function saysAway(error: Error): boolean {
  const state = sqlStateOf(error);
  if (state !== null) return AWAY_STATES.test(state);
  if ('code' in error && typeof error.code === 'string' && AWAY_CODES.has(error.code)) return true;
  if (error instanceof AggregateError) return error.errors.some((each) => each instanceof Error && saysAway(each));
  return AWAY_WORDS.test(error.message);
}

/** What is thrown in place of the error: that the store cannot be reached, if it says so. */
export function storeErrorOf(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof StoreUnavailableError || !saysAway(error)) return error;
  return new StoreUnavailableError(error.message || 'the database cannot be reached', { cause: error });
}

/** Where the database is, without user and password: what may be shown. */
export function placeOfUrl(url: string): string {
  const [, hosts, path] = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#@]*)([^?#]*)/i.exec(url) ?? [];
  return hosts === undefined ? 'the given database URL' : `postgres://${hosts}${path}`;
}
