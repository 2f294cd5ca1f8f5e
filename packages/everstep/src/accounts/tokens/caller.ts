/** Callers of instance operations. */
import type { TokenScope } from '../../ports/stores/accounts/named-tokens.js';
import type { TokenRecord } from '../../ports/stores/store.js';

export type TokenAccess = TokenRecord['access'];

/** The caller of an instance operation: the holder of a token, or a user with a session. */
export interface Caller {
  /** Name for the audit log and for display: `token <id>`, or the email of the user. */
  readonly actor: string;
  readonly instanceId: string;
  readonly region: string;
  readonly access: TokenAccess;
  /** Permitted scopes; `access` follows from them. */
  readonly scopes: readonly TokenScope[];
  /** Absent for the holder of a token. */
  readonly user?: SessionUser;
}

/** A user with a session. */
export interface SessionUser {
  readonly userId: string;
  readonly sessionId: string;
}
