/** Client of the management API: accounts, teams, queue instances, budgets, search indexes. */
import { AuditLog } from './admin-audit.js';
import { Queues } from './admin-queues.js';
import { SearchIndexes } from './admin-search.js';
import { Teams } from './admin-teams.js';
import { QueueTokens } from './admin-tokens.js';
import type { Account, ApiKey, AuditLogEntry, AuditLogPage, JoinedTeam, UserSession } from './admin-types.js';
import { Users } from './admin-users.js';
import { configured } from './configuration.js';
import { basic, type Call, callApi, callForText, jsonCall, type TransportOptions } from './transport.js';

export interface AdminClientOptions {
  /** URL of the management API. Default: EVERSTEP_MANAGEMENT_URL. */
  readonly baseUrl?: string;
  /** Default: EVERSTEP_ADMIN_EMAIL. */
  readonly email?: string;
  /** Default: EVERSTEP_ADMIN_API_KEY. */
  readonly apiKey?: string;
  readonly fetch?: typeof fetch;
}

export interface AuditLogOptions {
  readonly cursor?: string;
  /** Entries of a page. */
  readonly count?: number;
  /** True: of all accounts, and what belongs to no account. For operators. */
  readonly all?: boolean;
}

const API_KEYS = '/v2/apikeys';
const SESSIONS = '/v2/sessions';

/** Finds the management API; without a login. Throws TypeError for a malformed base URL. */
function transportOf(options: Pick<AdminClientOptions, 'baseUrl' | 'fetch'>): TransportOptions {
  const baseUrl = new URL(configured(options.baseUrl, 'baseUrl', 'EVERSTEP_MANAGEMENT_URL')).toString();
  return {
    baseUrl: baseUrl.replace(/\/+$/, ''),
    authorization: '',
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
  };
}

/** Accepts an invitation to a team for somebody who has no user yet. The first API key is in `api_key`, this once. */
export async function acceptInvitation(
  secret: string,
  options: Pick<AdminClientOptions, 'baseUrl' | 'fetch'> = {},
): Promise<JoinedTeam> {
  const call = jsonCall('POST', '/v2/invitations/accept', { secret });
  // The shape of the answer is the word of the service.
  return (await callApi(transportOf(options), call)) as JoinedTeam;
}

export class AdminClient {
  readonly queues: Queues;
  readonly tokens: QueueTokens;
  readonly teams: Teams;
  /** For operators. */
  readonly users: Users;
  readonly searchIndexes: SearchIndexes;
  /** For operators: of all accounts. */
  readonly audit: AuditLog;
  readonly apiKeys: {
    /** Revoked ones too. */
    readonly list: () => Promise<readonly ApiKey[]>;
    /** Resolves with the key itself in `api_key`: it is shown this once. */
    readonly create: (name: string) => Promise<ApiKey>;
    readonly revoke: (apiKeyId: string) => Promise<void>;
  };
  readonly sessions: {
    /** Those that have not ended, the latest first. */
    readonly list: () => Promise<readonly UserSession[]>;
    readonly end: (sessionId: string) => Promise<void>;
    /** Logs out everywhere. Resolves with how many sessions ended. */
    readonly endAll: () => Promise<number>;
  };
  private readonly call: <T>(call: Call) => Promise<T>;

  /** Throws EverstepError without a base URL, e-mail or API key, TypeError for a malformed base URL. */
  constructor(options: AdminClientOptions = {}) {
    const transport: TransportOptions = {
      ...transportOf(options),
      authorization: basic(
        configured(options.email, 'email', 'EVERSTEP_ADMIN_EMAIL'),
        configured(options.apiKey, 'apiKey', 'EVERSTEP_ADMIN_API_KEY'),
      ),
    };
    // The shapes of the answers are the word of the service.
    const call = async <T>(one: Call) => (await callApi(transport, one)) as T;
    this.call = call;
    this.queues = new Queues(call);
    this.tokens = new QueueTokens(call);
    this.audit = new AuditLog(call, (one) => callForText(transport, one));
    this.teams = new Teams(call);
    this.users = new Users(call);
    this.searchIndexes = new SearchIndexes(call);
    this.apiKeys = {
      list: () => call({ method: 'GET', path: API_KEYS }),
      create: (name) => call(jsonCall('POST', API_KEYS, { name })),
      revoke: async (apiKeyId) => {
        await call({ method: 'DELETE', path: `${API_KEYS}/${encodeURIComponent(apiKeyId)}` });
      },
    };
    this.sessions = {
      list: () => call({ method: 'GET', path: SESSIONS }),
      end: async (sessionId) => {
        await call({ method: 'DELETE', path: `${SESSIONS}/${encodeURIComponent(sessionId)}` });
      },
      endAll: async () => (await call<{ readonly ended: number }>({ method: 'DELETE', path: SESSIONS })).ended,
    };
  }

  /** Who the user is, and which accounts it may see. */
  account(): Promise<Account> {
    return this.call({ method: 'GET', path: '/v2/account' });
  }

  /** A page of what was changed in the accounts of the user, newest first. */
  auditLog(options: AuditLogOptions = {}): Promise<AuditLogPage> {
    const { cursor, count, all } = options;
    return this.call({ method: 'GET', path: '/v2/auditlogs', query: { cursor, count, all } });
  }

  /** All of it, newest first; asks for page after page. `all`: of all accounts, for operators. */
  async *auditEntries(options: Pick<AuditLogOptions, 'all'> = {}): AsyncGenerator<AuditLogEntry, void, undefined> {
    let cursor = '';
    do {
      const page = await this.auditLog(cursor === '' ? options : { ...options, cursor });
      yield* page.auditlogs;
      cursor = page.cursor;
    } while (cursor !== '');
  }
}
