/** Messages between the server and the thread that stores the documents. */
import type { SearchDocuments } from '../../../ports/stores/search-store.js';

/** Documents on the server's own disk, which the server therefore backs up itself. */
export interface EmbeddedDocuments extends SearchDocuments {
  /** Copies the documents of an index while writes continue; `file` must not exist. Returns false if there are none. */
  copyTo(query: { readonly indexId: string; readonly file: string }): Promise<boolean>;
  /** Aborts the copy into that file, if one is in progress; the call of `copyTo` then rejects soon. */
  endCopy(query: { readonly file: string }): Promise<void>;
}

type Methods = {
  readonly [Name in keyof EmbeddedDocuments as Name extends 'close' ? never : Name]: EmbeddedDocuments[Name];
};
export type MethodName = keyof Methods;
export type QueryOf<Name extends MethodName> = Parameters<Methods[Name]>[0];
export type ResultOf<Name extends MethodName> = Awaited<ReturnType<Methods[Name]>>;

export type DocumentRequest =
  | {
      readonly [Name in MethodName]: { readonly number: number; readonly method: Name; readonly query: QueryOf<Name> };
    }[MethodName]
  | { readonly number: number; readonly method: 'close' };

export type DocumentReply =
  | { readonly kind: 'result'; readonly number: number; readonly result: unknown }
  | { readonly kind: 'failed'; readonly number: number; readonly message: string }
  /** A failure of background work. */
  | { readonly kind: 'background-failure'; readonly message: string };

/** Options with which the thread is started. */
export interface DocumentThreadOptions {
  readonly directory: string;
}
