/** What goes between the service and the thread that keeps the documents. */
import type { SearchDocuments } from '../../../ports/search-store.js';

type Methods = {
  readonly [Name in keyof SearchDocuments as Name extends 'close' ? never : Name]: SearchDocuments[Name];
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
