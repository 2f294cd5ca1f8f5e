/** Client of one search index: its documents. The index itself is made, renamed and deleted by the `AdminClient`. */
import { configured } from './configuration.js';
import type {
  DocumentChoice,
  DocumentPage,
  DocumentParts,
  DocumentRangeOptions,
  DocumentsById,
  ScoredDocument,
  SearchDocument,
  SearchIndexInfo,
  SearchOptions,
  StoredDocument,
} from './search-types.js';
import { basic, callApi, jsonCall, type TransportOptions } from './transport.js';

export interface SearchClientOptions {
  /** The `endpoint` of the index. Default: EVERSTEP_SEARCH_URL. */
  readonly url?: string;
  /** A token of the index. Default: EVERSTEP_SEARCH_TOKEN. */
  readonly token?: string;
  /** The login of a user who may use the index, instead of a token. Then `url` has to be at the management address. */
  readonly login?: { readonly email: string; readonly apiKey: string };
  readonly fetch?: typeof fetch;
}

/** Posts to a path of the index, and gives the result. */
type Ask = <T>(path: string, body?: object) => Promise<T>;

/** The documents of one namespace. */
export class SearchNamespace {
  private readonly ask: Ask;
  private readonly name: string;

  constructor(ask: Ask, name: string) {
    this.ask = ask;
    this.name = name;
  }

  /** Makes or replaces documents, 1000 at most: all of them or none. */
  async upsert(documents: SearchDocument | readonly SearchDocument[]): Promise<void> {
    await this.ask(this.at('upsert-data'), documents);
  }

  /** The best first. */
  search(options: SearchOptions): Promise<readonly ScoredDocument[]> {
    return this.ask(this.at('search'), options);
  }

  /** In the order of the ids, null where there is none; of a prefix, by id. */
  fetch(choice: DocumentsById, parts: DocumentParts = {}): Promise<readonly (StoredDocument | null)[]> {
    return this.ask(this.at('fetch'), { ...choice, ...parts });
  }

  /** How many there were. */
  async delete(choice: DocumentChoice): Promise<number> {
    return (await this.ask<{ readonly deleted: number }>(this.at('delete'), choice)).deleted;
  }

  /** A page of the documents, by id. */
  range(options: DocumentRangeOptions): Promise<DocumentPage> {
    return this.ask(this.at('range'), options);
  }

  /** Deletes all documents of the namespace. */
  async reset(): Promise<void> {
    await this.ask(this.at('reset'));
  }

  private at(action: string): string {
    return this.name === '' ? `/${action}` : `/${action}/${encodeURIComponent(this.name)}`;
  }
}

export class SearchClient {
  private readonly ask: Ask;

  /** Throws EverstepError without a URL or token, TypeError for a malformed URL. */
  constructor(options: SearchClientOptions = {}) {
    const url = new URL(configured(options.url, 'url', 'EVERSTEP_SEARCH_URL')).toString();
    const { login } = options;
    const transport: TransportOptions = {
      baseUrl: url.replace(/\/+$/, ''),
      authorization: login
        ? basic(login.email, login.apiKey)
        : `Bearer ${configured(options.token, 'token', 'EVERSTEP_SEARCH_TOKEN')}`,
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    };
    // The shapes of the answers are the word of the service.
    this.ask = async <T>(path: string, body?: object) =>
      ((await callApi(transport, body ? jsonCall('POST', path, body) : { method: 'POST', path })) as { readonly result: T })
        .result;
  }

  /** Comes into being with its first document; without a name, the one that has none. */
  namespace(name = ''): SearchNamespace {
    return new SearchNamespace(this.ask, name);
  }

  /** By name. */
  namespaces(): Promise<readonly string[]> {
    return this.ask('/list-namespaces');
  }

  /** With all its documents. Rejects when there is none of this name. */
  async deleteNamespace(name: string): Promise<void> {
    await this.ask(`/delete-namespace/${encodeURIComponent(name)}`);
  }

  info(): Promise<SearchIndexInfo> {
    return this.ask('/info');
  }

  /** Deletes the documents of every namespace. */
  async reset(): Promise<void> {
    await this.ask('/reset?all');
  }
}
