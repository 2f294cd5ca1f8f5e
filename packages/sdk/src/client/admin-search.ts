/** Search indexes, as calls of the management API. */
import type { SearchIndex, SearchIndexStats, SearchIndexType, SearchStats } from './admin-types.js';
import { type Call, jsonCall } from './transport.js';

export interface NewSearchIndex {
  readonly name: string;
  readonly region: string;
  /** How it is paid; all do the same. */
  readonly type: SearchIndexType;
  /** The team that is to own it; absent: the personal account. */
  readonly teamId?: string;
}

const SEARCH = '/v2/search';
const at = (indexId: string, action = '') => `${SEARCH}/${encodeURIComponent(indexId)}${action}`;

export class SearchIndexes {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** Those of all accounts that the user is in. */
  list(): Promise<readonly SearchIndex[]> {
    return this.call({ method: 'GET', path: SEARCH });
  }

  create({ name, region, type, teamId }: NewSearchIndex): Promise<SearchIndex> {
    return this.call(jsonCall('POST', SEARCH, { name, region, type, team_id: teamId }));
  }

  get(indexId: string): Promise<SearchIndex> {
    return this.call({ method: 'GET', path: at(indexId) });
  }

  async rename(indexId: string, name: string): Promise<void> {
    await this.call(jsonCall('POST', at(indexId, '/rename'), { name }));
  }

  /** Its tokens stay good. */
  async moveToTeam(indexId: string, teamId: string): Promise<void> {
    await this.call(jsonCall('POST', at(indexId, '/transfer'), { target_account: teamId }));
  }

  /** Resolves with the new tokens; the old ones are refused from then on. */
  rotateTokens(indexId: string): Promise<SearchIndex> {
    return this.call({ method: 'POST', path: at(indexId, '/reset-password') });
  }

  /** All its documents go, for good. */
  async delete(indexId: string): Promise<void> {
    await this.call({ method: 'DELETE', path: at(indexId) });
  }

  stats(indexId: string): Promise<SearchIndexStats> {
    return this.call({ method: 'GET', path: at(indexId, '/stats') });
  }

  /** Of all of them together, and of each. */
  totals(): Promise<SearchStats> {
    return this.call({ method: 'GET', path: `${SEARCH}/stats` });
  }
}
