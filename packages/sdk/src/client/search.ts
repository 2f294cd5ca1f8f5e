/** Client for the documents of one search index. `AdminClient` creates, renames and deletes indexes. */
import { configured } from './configuration.js';
import type {
  DocumentPage,
  DocumentParts,
  DocumentRangeOptions,
  ScoredDocument,
  SearchDocument,
  SearchIndexInfo,
  SearchOptions,
  StoredDocument,
} from './generated/index.js';
import { basic, callApi, jsonCall, type TransportOptions } from './transport.js';

/** Selects documents by ids or by a prefix of their ids. */
export type DocumentsById = { readonly ids: readonly (string | number)[] } | { readonly prefix: string };
/** Selects documents by ids, by a prefix of their ids, or by a filter. */
export type DocumentChoice = DocumentsById | { readonly filter: string };

/** Options of a `SearchClient`. Missing options are read from the environment. */
export interface SearchClientOptions {
  /** The `endpoint` of the index. Default: EVERSTEP_SEARCH_URL. */
  readonly url?: string;
  /** A token of the index. Default: EVERSTEP_SEARCH_TOKEN. */
  readonly token?: string;
  /** Login of a user who may use the index, instead of a token. `url` must then be a URL of the management API. */
  readonly login?: { readonly email: string; readonly apiKey: string };
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** Sends a POST to a path of the index and returns the result. */
type Ask = <T>(path: string, body?: object) => Promise<T>;

/** The documents of one namespace. */
export class SearchNamespace {
  private readonly ask: Ask;
  private readonly name: string;

  constructor(ask: Ask, name: string) {
    this.ask = ask;
    this.name = name;
  }

  /** Creates or replaces up to 1,000 documents, either all or none. */
  async upsert(documents: SearchDocument | readonly SearchDocument[]): Promise<void> {
    await this.ask(this.at('upsert-data'), documents);
  }

  /** Searches documents, the best match first. */
  search(options: SearchOptions): Promise<readonly ScoredDocument[]> {
    return this.ask(this.at('search'), options);
  }

  /** Returns documents by ids, in the order of the ids, with null for missing ones; or by a prefix, ordered by id. */
  fetch(choice: DocumentsById, parts: DocumentParts = {}): Promise<readonly (StoredDocument | null)[]> {
    return this.ask(this.at('fetch'), { ...choice, ...parts });
  }

  /** Deletes documents and returns the number of deleted documents. */
  async delete(choice: DocumentChoice): Promise<number> {
    return (await this.ask<{ readonly deleted: number }>(this.at('delete'), choice)).deleted;
  }

  /** Returns one page of the documents, ordered by id. */
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

/** Client of one search index. Methods reject with EverstepError if the server rejects the request or does not respond. */
export class SearchClient {
  private readonly ask: Ask;

  /**
   * Options that are not given are read from the environment.
   *
   * @throws {EverstepError} If the URL or the token is missing.
   * @throws {TypeError} If the URL is malformed.
   */
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
    // The server guarantees the shapes of its responses.
    this.ask = async <T>(path: string, body?: object) =>
      ((await callApi(transport, body ? jsonCall('POST', path, body) : { method: 'POST', path })) as { readonly result: T })
        .result;
  }

  /** Returns a namespace. Default: the unnamed namespace. A namespace is created with its first document. */
  namespace(name = ''): SearchNamespace {
    return new SearchNamespace(this.ask, name);
  }

  /** Lists the namespaces, ordered by name. */
  namespaces(): Promise<readonly string[]> {
    return this.ask('/list-namespaces');
  }

  /**
   * Deletes a namespace with all its documents.
   *
   * @throws {EverstepError} If there is no namespace with this name.
   */
  async deleteNamespace(name: string): Promise<void> {
    await this.ask(`/delete-namespace/${encodeURIComponent(name)}`);
  }

  /** Returns the size of the index and its namespaces. */
  info(): Promise<SearchIndexInfo> {
    return this.ask('/info');
  }

  /** Deletes the documents of all namespaces. */
  async reset(): Promise<void> {
    await this.ask('/reset?all');
  }
}
