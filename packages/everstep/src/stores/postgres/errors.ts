/** Why a database cannot be used or a write was not made, in words for the operator and without a password. */

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

/** Where the database is, without user and password: what may be shown. */
export function placeOfUrl(url: string): string {
  try {
    const { host, pathname } = new URL(url);
    return `postgres://${host}${pathname}`;
  } catch {
    return 'the given database URL';
  }
}
