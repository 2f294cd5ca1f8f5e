/** Errors for the operator: why a database cannot be used, or why a write failed. They contain no password. */
import { StoreRefusesWritesError, StoreUnavailableError } from '../../../ports/stores/store-unavailable.js';

export type StoreOpenErrorCode = 'unreachable' | 'refused' | 'newer-schema' | 'unsupported-server' | 'not-empty';

/** The database cannot be used as a store. The message is for the operator. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError';
  readonly code: StoreOpenErrorCode;
  constructor(code: StoreOpenErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** Returns the SQLSTATE of an error of the server; null for others, such as a lost connection. */
export function sqlStateOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  // Some codes of the operating system also have five characters: EPIPE, EPERM, E2BIG.
  if ('syscall' in error || 'errno' in error) return null;
  return /^(?=.*\d)[0-9A-Z]{5}$/.test(error.code) ? error.code : null;
}

const UNIQUE_VIOLATION = '23505';
/** A server that copies rows to another one reports a violation there as an internal error with the same message. */
const INTERNAL_ERROR = 'XX000';
const FORWARDED_VIOLATION = /^duplicate key value violates unique constraint "([^"]{1,63})"$/;

/** Returns the unique constraint that the statement violated; null for another error. */
export function violatedConstraintOf(error: unknown): string | null {
  const sqlState = sqlStateOf(error);
  if (!(error instanceof Error) || sqlState === null) return null;
  if (sqlState === UNIQUE_VIOLATION && 'constraint' in error && typeof error.constraint === 'string') return error.constraint;
  if (sqlState !== UNIQUE_VIOLATION && sqlState !== INTERNAL_ERROR) return null;
  return FORWARDED_VIOLATION.exec(error.message)?.[1] ?? null;
}

/** Returns whether the statement waited for a shard that was replaced by others. It had no effect, and can be repeated. */
export const isShardReplaced = (error: unknown): boolean =>
  error instanceof Error &&
  sqlStateOf(error) === INTERNAL_ERROR &&
  error.message.startsWith('could not find valid entry for shard');

const FEATURE_NOT_SUPPORTED = '0A000';
/**
 * Returns whether the statement was prepared before the columns of its result changed, for example because a newer version added a
 * column. It had no effect. The message depends on the language of the server, but the name of its function does not.
 */
export const isPlanOutdated = (error: unknown): boolean =>
  error instanceof Error &&
  sqlStateOf(error) === FEATURE_NOT_SUPPORTED &&
  'routine' in error &&
  error.routine === 'RevalidateCachedQuery';

/**
 * SQLSTATEs (PostgreSQL, appendix A, "PostgreSQL Error Codes") with which the server ends the connection or accepts none. It is
 * unknown whether the last statements had an effect.
 *
 * - 08: connection exceptions, such as 08007, the outcome of a transaction is unknown.
 * - 25P03, 25P04: the transaction was idle or took too long, so the session was ended.
 * - 28: the server no longer accepts the credentials. 3D000, 57P04: the database is gone.
 * - 53300: too many connections.
 * - 57P01, 57P02, 57P03, 57P05: shutdown, crash of another server process, starting up, idle session.
 */
const UNREACHABLE_STATES = /^(08...|25P0[34]|28...|3D000|53300|57P0[1-5])$/;
/**
 * SQLSTATEs with which the server reports that it temporarily cannot write. It has rolled the transaction back.
 *
 * Not included: XX001 and XX002 (data or an index is damaged) and 42501 (a privilege is missing), because waiting does not help; 54
 * (a limit of the program) and 22 (data), because they are faults of one statement.
 */
const WRITE_REFUSALS: readonly (readonly [sqlState: RegExp, reason: string])[] = [
  // A replica, including a former primary, or default_transaction_read_only.
  [/^25006$/, 'the database is read-only'],
  [/^53100$/, 'disk full'],
  [/^53200$/, 'out of memory'],
  // 53000 and 53400: resources, such as temp_file_limit.
  [/^53/, 'the server is out of resources'],
  // A lock is held for too long, for example by a LOCK TABLE or a change of the schema.
  [/^55P03$/, 'a lock was not available in time'],
  // statement_timeout, or pg_cancel_backend.
  [/^57014$/, 'a statement timed out or was canceled'],
  // 58000, 58030 and 58P01: errors of the server's operating system, such as EIO or a missing file.
  [/^58(000|030|P01)$/, 'I/O error'],
];
/** Messages with which a server of a cluster reports that the connection to another one was lost, as an internal error. */
const LOST_SERVER =
  /^(could not commit transaction for shard|failure on connection marked as essential|server closed the connection|could not (receive|send) data|connection not open|no connection to the server|SSL (connection|SYSCALL|error)|lost synchronization with server)/;

/** Returns whether the server reports that it cannot write at the moment. */
export const isWriteRefusal = (error: Error): boolean => {
  const sqlState = sqlStateOf(error) ?? '';
  return WRITE_REFUSALS.some(([states]) => states.test(sqlState));
};

/** Returns whether a server has responded that it, or another server that it needs, is unavailable. */
export function isOutage(error: Error): boolean {
  const sqlState = sqlStateOf(error);
  if (sqlState === null) return false;
  if (UNREACHABLE_STATES.test(sqlState) || isWriteRefusal(error)) return true;
  return sqlState === INTERNAL_ERROR && LOST_SERVER.test(error.message);
}

/** Network error codes of Node. */
const UNREACHABLE_CODES: ReadonlySet<string> = new Set([
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
/** TLS error codes, for example of an expired certificate. No request is possible until the operator fixes the cause. */
const TLS_CODES = /^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED)/;
/** Messages of the library, which has no codes for them. */
const UNREACHABLE_MESSAGES =
  /^(Connection terminated|timeout e|Query read timeout|Client has encountered a connection error|Client was closed|The server does not support SSL|There was an error establishing an SSL)/;

function meansUnreachable(error: Error): boolean {
  const sqlState = sqlStateOf(error);
  if (sqlState !== null) return UNREACHABLE_STATES.test(sqlState);
  if ('code' in error && typeof error.code === 'string' && (UNREACHABLE_CODES.has(error.code) || TLS_CODES.test(error.code)))
    return true;
  if (error instanceof AggregateError) return error.errors.some((cause) => cause instanceof Error && meansUnreachable(cause));
  return UNREACHABLE_MESSAGES.test(error.message);
}

/** Converts the error if it means that the store cannot be reached or rejects writes. Returns any other error unchanged. */
export function storeErrorOf(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof StoreUnavailableError) return error;
  if (meansUnreachable(error)) return unreachableError(error);
  const sqlState = sqlStateOf(error) ?? '';
  const [, reason] = WRITE_REFUSALS.find(([states]) => states.test(sqlState)) ?? [];
  return reason === undefined ? error : new StoreRefusesWritesError(reason, { cause: error });
}

function unreachableError(error: Error): StoreUnavailableError {
  return new StoreUnavailableError(error.message || 'the database cannot be reached', { cause: error });
}

/** Returns the location of the database without user and password, so that it can be shown. */
export function locationOfUrl(url: string): string {
  const [, hosts, path] = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#@]*)([^?#]*)/i.exec(url) ?? [];
  return hosts === undefined ? 'the given database URL' : `postgres://${hosts}${path}`;
}
