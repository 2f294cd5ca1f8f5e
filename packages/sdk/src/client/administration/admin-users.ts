/** Client for the users of the installation, for operators (management API). */
import type { ApiKey, RecoveryLink, User, UserIdentity, UserPage } from '../generated/index.js';
import type { Call } from '../transport.js';

/** Options for a page of users. */
export interface UserListOptions {
  /** Cursor from the previous page. */
  readonly cursor?: string;
  /** Number of users per page. */
  readonly count?: number;
}

/** Options for deleting a user. */
export interface DeleteUserOptions {
  /** Id of the user who becomes the owner of teams that would have none. The user must be a member of each of them. */
  readonly handOverTo?: string;
}

const pathOf = (userId: string): string => `/v2/users/${encodeURIComponent(userId)}`;

/**
 * Operations on the users of the installation, for operators. Users without operator rights can delete themselves, list
 * their own keys, list and unlink their own identities, and end their own sessions.
 */
export class Users {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** Returns one page of users, oldest first. */
  page(options: UserListOptions = {}): Promise<UserPage> {
    const { cursor, count } = options;
    return this.call({ method: 'GET', path: '/v2/users', query: { cursor, count } });
  }

  /** Returns all users, oldest first, fetching page after page. */
  async *all(): AsyncGenerator<User, void, undefined> {
    let cursor = '';
    do {
      const page = await this.page(cursor === '' ? {} : { cursor });
      yield* page.users;
      cursor = page.cursor;
    } while (cursor !== '');
  }

  /** Disables the user. A disabled user cannot log in, and all sessions of the user end. */
  async disable(userId: string): Promise<void> {
    await this.call({ method: 'POST', path: `${pathOf(userId)}/disable` });
  }

  /** Enables a disabled user. */
  async enable(userId: string): Promise<void> {
    await this.call({ method: 'POST', path: `${pathOf(userId)}/enable` });
  }

  /** Deletes the user with its keys, sessions and memberships. The user must not own queue instances or search indexes. */
  async delete(userId: string, { handOverTo }: DeleteUserOptions = {}): Promise<void> {
    await this.call({ method: 'DELETE', path: pathOf(userId), query: { hand_over_to: handOverTo } });
  }

  /** Makes the user an operator. */
  async grantOperator(userId: string): Promise<void> {
    await this.call({ method: 'POST', path: `${pathOf(userId)}/operator` });
  }

  /** Revokes the operator role. At least one operator must remain. */
  async revokeOperator(userId: string): Promise<void> {
    await this.call({ method: 'DELETE', path: `${pathOf(userId)}/operator` });
  }

  /** Lists the API keys of the user, including revoked ones. */
  apiKeys(userId: string): Promise<readonly ApiKey[]> {
    return this.call({ method: 'GET', path: `${pathOf(userId)}/apikeys` });
  }

  /** Revokes one API key, or all keys of the user without `apiKeyId`. Sessions that were started with them end. */
  async revokeApiKeys(userId: string, apiKeyId?: string): Promise<void> {
    const keyPath = apiKeyId === undefined ? '' : `/${encodeURIComponent(apiKeyId)}`;
    await this.call({ method: 'DELETE', path: `${pathOf(userId)}/apikeys${keyPath}` });
  }

  /** Creates a secret that gives a user without a valid API key a new one. It can be used once, within a day. */
  createRecoveryLink(userId: string): Promise<RecoveryLink> {
    return this.call({ method: 'POST', path: `${pathOf(userId)}/recovery` });
  }

  /** Lists the single sign-on identities of the user. */
  identities(userId: string): Promise<readonly UserIdentity[]> {
    return this.call({ method: 'GET', path: `${pathOf(userId)}/identities` });
  }

  /** Unlinks an identity of the user. Sessions that were started with an identity provider end. */
  async unlinkIdentity(userId: string, identityId: string): Promise<void> {
    await this.call({ method: 'DELETE', path: `${pathOf(userId)}/identities/${encodeURIComponent(identityId)}` });
  }

  /** Ends all sessions of the user. */
  async endSessions(userId: string): Promise<void> {
    await this.call({ method: 'DELETE', path: `${pathOf(userId)}/sessions` });
  }
}
