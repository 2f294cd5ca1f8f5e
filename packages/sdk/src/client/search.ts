/** Client for the documents of one search index. `AdminClient` creates, renames and deletes indexes. */
import { requireOption } from './configuration.js';
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
import { basicAuthorization, callApi, jsonCall, type TransportOptions } from './transport.js';

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
type Post = <T>(path: string, body?: object) => Promise<T>;

/** The documents of one namespace. */
export class SearchNamespace {
  private readonly post: Post;
  private readonly name: string;

  constructor(post: Post, name: string) {
    this.post = post;
    this.name = name;
  }

  /** Creates or replaces up to 1,000 documents, either all or none. */
  async upsert(documents: SearchDocument | readonly SearchDocument[]): Promise<void> {
    await this.post(this.pathOf('upsert-data'), documents);
  }

  /** Searches documents, the best match first. */
  search(options: SearchOptions): Promise<readonly ScoredDocument[]> {
    return this.post(this.pathOf('search'), options);
  }

  /** Returns documents by ids, in the order of the ids, with null for missing ones; or by a prefix, ordered by id. */
  fetch(selection: DocumentsById, parts: DocumentParts = {}): Promise<readonly (StoredDocument | null)[]> {
    return this.post(this.pathOf('fetch'), { ...selection, ...parts });
  }

  /** Deletes documents and returns the number of deleted documents. */
  async delete(selection: DocumentChoice): Promise<number> {
    return (await this.post<{ readonly deleted: number }>(this.pathOf('delete'), selection)).deleted;
  }

  /** Returns one page of the documents, ordered by id. */
  range(options: DocumentRangeOptions): Promise<DocumentPage> {
    return this.post(this.pathOf('range'), options);
  }

  /** Deletes all documents of the namespace. */
  async reset(): Promise<void> {
    await this.post(this.pathOf('reset'));
  }

  private pathOf(action: string): string {
    return this.name === '' ? `/${action}` : `/${action}/${encodeURIComponent(this.name)}`;
  }
}

/** Client of one search index. Methods reject with EverstepError if the server rejects the request or does not respond. */
export class SearchClient {
  private readonly post: Post;

  /**
   * Creates a client. Missing options are read from the environment.
   *
   * @throws {EverstepError} If the URL or the token is missing.
   * @throws {TypeError} If the URL is malformed.
   */
  constructor(options: SearchClientOptions = {}) {
    const url = new URL(requireOption(options.url, 'url', 'EVERSTEP_SEARCH_URL')).toString();
    const { login } = options;
    const transport: TransportOptions = {
      baseUrl: url.replace(/\/+$/, ''),
      authorization: login
        ? basicAuthorization(login.email, login.apiKey)
        : `Bearer ${requireOption(options.token, 'token', 'EVERSTEP_SEARCH_TOKEN')}`,
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    };
    // The server guarantees the shapes of its responses.
    this.post = async <T>(path: string, body?: object) =>
      ((await callApi(transport, body ? jsonCall('POST', path, body) : { method: 'POST', path })) as { readonly result: T })
        .result;
  }

  /** Returns a namespace. Default: the unnamed namespace. A namespace is created with its first document. */
  namespace(name = ''): SearchNamespace {
    return new SearchNamespace(this.post, name);
  }

  /** Lists the namespaces, ordered by name. */
  namespaces(): Promise<readonly string[]> {
    return this.post('/list-namespaces');
  }

  /**
   * Deletes a namespace with all its documents.
   *
   * @throws {EverstepError} If there is no namespace with this name.
   */
  async deleteNamespace(name: string): Promise<void> {
    await this.post(`/delete-namespace/${encodeURIComponent(name)}`);
  }

  /** Returns the size of the index and its namespaces. */
  info(): Promise<SearchIndexInfo> {
    return this.post('/info');
  }

  /** Deletes the documents of all namespaces. */
  async reset(): Promise<void> {
    await this.post('/reset?all');
  }
}
