/** Users of the installation, for operators, as calls of the management API. */
import type { ApiKey, RecoveryLink, User, UserPage } from './admin-types.js';
import type { Call } from './transport.js';

export interface UserListOptions {
  readonly cursor?: string;
  /** Users of a page. */
  readonly count?: number;
}

export interface DeleteUserOptions {
  /** Id of the user who becomes an owner of the teams that would be without one; a member of each of them. */
  readonly handOverTo?: string;
}

const pathOf = (userId: string): string => `/v2/users/${encodeURIComponent(userId)}`;

/** For operators. A user may `delete` itself, and list its keys and end its sessions. */
export class Users {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** A page, by creation. */
  page(options: UserListOptions = {}): Promise<UserPage> {
    const { cursor, count } = options;
    return this.call({ method: 'GET', path: '/v2/users', query: { cursor, count } });
  }

  /** All of them, by creation; asks for page after page. */
  async *all(): AsyncGenerator<User, void, undefined> {
    let cursor = '';
    do {
      const page = await this.page(cursor === '' ? {} : { cursor });
      yield* page.users;
      cursor = page.cursor;
    } while (cursor !== '');
  }

  /** The user cannot log in, and its sessions end. */
  async disable(userId: string): Promise<void> {
    await this.call({ method: 'POST', path: `${pathOf(userId)}/disable` });
  }

  async enable(userId: string): Promise<void> {
    await this.call({ method: 'POST', path: `${pathOf(userId)}/enable` });
  }

  /** With its keys, sessions and memberships. It must own no queue instance and no search index. */
  async delete(userId: string, { handOverTo }: DeleteUserOptions = {}): Promise<void> {
    await this.call({ method: 'DELETE', path: pathOf(userId), query: { hand_over_to: handOverTo } });
  }

  async grantOperator(userId: string): Promise<void> {
    await this.call({ method: 'POST', path: `${pathOf(userId)}/operator` });
  }

  /** One operator stays. */
  async revokeOperator(userId: string): Promise<void> {
    await this.call({ method: 'DELETE', path: `${pathOf(userId)}/operator` });
  }

  /** Revoked ones too. */
  apiKeys(userId: string): Promise<readonly ApiKey[]> {
    return this.call({ method: 'GET', path: `${pathOf(userId)}/apikeys` });
  }

  /** Without a key: all keys of the user. Sessions that were started with them end. */
  async revokeApiKeys(userId: string, apiKeyId?: string): Promise<void> {
    const key = apiKeyId === undefined ? '' : `/${encodeURIComponent(apiKeyId)}`;
    await this.call({ method: 'DELETE', path: `${pathOf(userId)}/apikeys${key}` });
  }

  /** For a user without a good API key: a secret that gives it one, once and within a day. */
  createRecoveryLink(userId: string): Promise<RecoveryLink> {
    return this.call({ method: 'POST', path: `${pathOf(userId)}/recovery` });
  }

  async endSessions(userId: string): Promise<void> {
    await this.call({ method: 'DELETE', path: `${pathOf(userId)}/sessions` });
  }
}
