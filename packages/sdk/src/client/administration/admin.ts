/** Client of the management API: accounts, teams, queue instances, budgets, search indexes. */

import { requireOption } from '../configuration.js';
import type {
  Account,
  ApiKey,
  AuditLogEntry,
  AuditLogPage,
  JoinedTeam,
  LogLevel,
  LogLevelName,
  UserSession,
} from '../generated/index.js';
import { basicAuthorization, type Call, callApi, callForText, jsonCall, type TransportOptions } from '../transport.js';
import { AuditLog } from './admin-audit.js';
import { Instances } from './admin-instances.js';
import { SearchIndexes } from './admin-search.js';
import { Teams } from './admin-teams.js';
import { InstanceTokens } from './admin-tokens.js';
import { Users } from './admin-users.js';

/** Options of an `AdminClient`. Missing options are read from the environment. */
export interface AdminClientOptions {
  /** URL of the management API. Default: EVERSTEP_MANAGEMENT_URL. */
  readonly baseUrl?: string;
  /** Email address of the user. Default: EVERSTEP_ADMIN_EMAIL. */
  readonly email?: string;
  /** API key of the user. Default: EVERSTEP_ADMIN_API_KEY. */
  readonly apiKey?: string;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** Options for a page of the audit log. */
export interface AuditLogOptions {
  /** Cursor from the previous page. */
  readonly cursor?: string;
  /** Number of entries per page. */
  readonly count?: number;
  /** If true, returns the entries of all accounts and those without an account. For operators only. */
  readonly all?: boolean;
  /** Words that each entry contains, ignoring case. A page can be short or empty before the end. */
  readonly q?: string;
}

const API_KEYS = '/v2/apikeys';
const SESSIONS = '/v2/sessions';

/**
 * Returns the transport of the management API, without a login.
 *
 * @throws {TypeError} If the base URL is malformed.
 */
function transportOf(options: Pick<AdminClientOptions, 'baseUrl' | 'fetch'>): TransportOptions {
  const baseUrl = new URL(requireOption(options.baseUrl, 'baseUrl', 'EVERSTEP_MANAGEMENT_URL')).toString();
  return {
    baseUrl: baseUrl.replace(/\/+$/, ''),
    authorization: '',
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
  };
}

/**
 * Accepts an invitation to a team for a person without a user account. `api_key` of the result contains the first API
 * key; it is shown only once.
 *
 * @throws {EverstepError} If the request fails or the base URL is missing.
 */
export async function acceptInvitation(
  secret: string,
  options: Pick<AdminClientOptions, 'baseUrl' | 'fetch'> = {},
): Promise<JoinedTeam> {
  const call = jsonCall('POST', '/v2/invitations/accept', { secret });
  // The server guarantees the shape of its response.
  return (await callApi(transportOf(options), call)) as JoinedTeam;
}

/**
 * Client of the management API. Methods reject with EverstepError if the server rejects the request or does not
 * respond.
 */
export class AdminClient {
  /** Queue instances. */
  readonly instances: Instances;
  /** Tokens of queue instances. */
  readonly tokens: InstanceTokens;
  /** Teams, members and invitations. */
  readonly teams: Teams;
  /** Users of the installation. For operators only. */
  readonly users: Users;
  /** Search indexes. */
  readonly searchIndexes: SearchIndexes;
  /** The audit log of all accounts. For operators only. */
  readonly audit: AuditLog;
  /** API keys of the user. */
  readonly apiKeys: {
    /** Lists the API keys, including revoked ones. */
    readonly list: () => Promise<readonly ApiKey[]>;
    /** Creates an API key. `api_key` of the result contains the key itself; it is shown only once. */
    readonly create: (name: string) => Promise<ApiKey>;
    /** Revokes an API key. Sessions that were started with it end. */
    readonly revoke: (apiKeyId: string) => Promise<void>;
  };
  /** Browser sessions of the user. */
  readonly sessions: {
    /** Lists the sessions that have not ended, newest first. */
    readonly list: () => Promise<readonly UserSession[]>;
    /** Ends one session. */
    readonly end: (sessionId: string) => Promise<void>;
    /** Logs out everywhere and returns the number of ended sessions. */
    readonly endAll: () => Promise<number>;
  };
  private readonly call: <T>(call: Call) => Promise<T>;

  /**
   * Creates a client. Missing options are read from the environment.
   *
   * @throws {EverstepError} If the base URL, email address or API key is missing.
   * @throws {TypeError} If the base URL is malformed.
   */
  constructor(options: AdminClientOptions = {}) {
    const transport: TransportOptions = {
      ...transportOf(options),
      authorization: basicAuthorization(
        requireOption(options.email, 'email', 'EVERSTEP_ADMIN_EMAIL'),
        requireOption(options.apiKey, 'apiKey', 'EVERSTEP_ADMIN_API_KEY'),
      ),
    };
    // The server guarantees the shapes of its responses.
    const call = async <T>(apiCall: Call) => (await callApi(transport, apiCall)) as T;
    this.call = call;
    this.instances = new Instances(call);
    this.tokens = new InstanceTokens(call);
    this.audit = new AuditLog(call, (apiCall) => callForText(transport, apiCall));
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

  /** Returns the log level of the server that handles the request. For operators only. */
  logLevel(): Promise<LogLevel> {
    return this.call({ method: 'GET', path: '/v2/log-level' });
  }

  /** Changes the log level of the server that handles the request, until it restarts. For operators only. */
  setLogLevel(level: LogLevelName): Promise<LogLevel> {
    return this.call(jsonCall('PUT', '/v2/log-level', { level }));
  }

  /** Returns the logged-in user and the accounts that the user can access. */
  account(): Promise<Account> {
    return this.call({ method: 'GET', path: '/v2/account' });
  }

  /** Returns one page of changes in the accounts of the user, newest first. */
  auditLog(options: AuditLogOptions = {}): Promise<AuditLogPage> {
    const { cursor, count, all, q } = options;
    return this.call({ method: 'GET', path: '/v2/auditlogs', query: { cursor, count, all, q } });
  }

  /** Returns all changes, newest first, fetching page after page. With `all`, those of all accounts, for operators only. */
  async *auditEntries(options: Pick<AuditLogOptions, 'all' | 'q'> = {}): AsyncGenerator<AuditLogEntry, void, undefined> {
    let cursor = '';
    do {
      const page = await this.auditLog(cursor === '' ? options : { ...options, cursor });
      yield* page.auditlogs;
      cursor = page.cursor;
    } while (cursor !== '');
  }
}
