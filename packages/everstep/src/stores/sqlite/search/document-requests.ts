/** What goes between the service and the thread that keeps the documents. */
import type { SearchDocuments } from '../../../ports/stores/search-store.js';

/** Documents that lie on the service's own disk, so that the service is who can back them up. */
export interface EmbeddedDocuments extends SearchDocuments {
  /** Copies the documents of an index while they go on being written; `file` must not exist. False when there are none. */
  copyTo(query: { readonly indexId: string; readonly file: string }): Promise<boolean>;
  /** The copy into that file rejects soon, if there is one. */
  endCopy(query: { readonly file: string }): Promise<void>;
}

type Methods = {
  readonly [Name in keyof EmbeddedDocuments as Name extends 'close' ? never : Name]: EmbeddedDocuments[Name];
};
export type MethodName = keyof Methods;
export type QueryOf<Name extends MethodName> = Parameters<Methods[Name]>[0];
export type AnswerOf<Name extends MethodName> = Awaited<ReturnType<Methods[Name]>>;

export type DocumentRequest =
  | {
      readonly [Name in MethodName]: { readonly number: number; readonly method: Name; readonly query: QueryOf<Name> };
    }[MethodName]
  | { readonly number: number; readonly method: 'close' };

export type DocumentReply =
  | { readonly kind: 'answer'; readonly number: number; readonly answer: unknown }
  | { readonly kind: 'failed'; readonly number: number; readonly message: string }
  /** Of work that nobody waits for. */
  | { readonly kind: 'trouble'; readonly message: string };

/** What the thread is started with. */
export interface DocumentThreadData {
  readonly directory: string;
}
