/** Client for search indexes (management API). */
import type { SearchIndex, SearchIndexStats, SearchStats } from '../generated/index.js';
import { type Call, jsonCall } from '../transport.js';

/** Billing type of a search index. All types behave the same. */
export type SearchIndexType = 'free' | 'payg' | 'fixed';

/** Settings of a new search index. */
export interface NewSearchIndex {
  /** Display name of the index. */
  readonly name: string;
  /** Region of the index, such as `eu-central-1`. */
  readonly region: string;
  /** Billing type of the index. All types behave the same. */
  readonly type: SearchIndexType;
  /** Id of the team that owns the index. Default: your personal account. */
  readonly teamId?: string;
}

const SEARCH = '/v2/search';
const pathOf = (indexId: string, action = '') => `${SEARCH}/${encodeURIComponent(indexId)}${action}`;

/** Operations on search indexes. Use it through `AdminClient.searchIndexes`. Methods reject with EverstepError. */
export class SearchIndexes {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** Lists the search indexes of all accounts that the user belongs to. */
  list(): Promise<readonly SearchIndex[]> {
    return this.call({ method: 'GET', path: SEARCH });
  }

  /** Creates a search index and returns it with its tokens, which are shown only once. */
  create({ name, region, type, teamId }: NewSearchIndex): Promise<SearchIndex> {
    return this.call(jsonCall('POST', SEARCH, { name, region, type, team_id: teamId }));
  }

  /** Returns one search index, without its tokens. */
  get(indexId: string): Promise<SearchIndex> {
    return this.call({ method: 'GET', path: pathOf(indexId) });
  }

  /** Renames a search index. */
  async rename(indexId: string, name: string): Promise<void> {
    await this.call(jsonCall('POST', pathOf(indexId, '/rename'), { name }));
  }

  /** Moves the index to a team. Its tokens stay valid. */
  async moveToTeam(indexId: string, teamId: string): Promise<void> {
    await this.call(jsonCall('POST', pathOf(indexId, '/transfer'), { target_account: teamId }));
  }

  /** Replaces the tokens and returns the index with the new ones. The old tokens stop working immediately. */
  rotateTokens(indexId: string): Promise<SearchIndex> {
    return this.call({ method: 'POST', path: pathOf(indexId, '/reset-password') });
  }

  /** Permanently deletes the index with all its documents. */
  async delete(indexId: string): Promise<void> {
    await this.call({ method: 'DELETE', path: pathOf(indexId) });
  }

  /** Returns the number of documents and the size of an index. */
  stats(indexId: string): Promise<SearchIndexStats> {
    return this.call({ method: 'GET', path: pathOf(indexId, '/stats') });
  }

  /** Returns the totals over all indexes, and the numbers of each index. */
  totals(): Promise<SearchStats> {
    return this.call({ method: 'GET', path: `${SEARCH}/stats` });
  }
}
