/** Rows of the isolation table: the request of an operation, and the expected status by caller. */
import type { Person } from '../../accounts/people.fixture.js';
import type { TestObjects } from './isolation-objects.js';

export interface IsolationRequest {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body, which is sent as JSON. */
  readonly body?: unknown;
}
/** Creates the object of the request and returns the request. */
export type MakeRequest = (objects: TestObjects) => Promise<IsolationRequest> | IsolationRequest;

export interface TokenRow {
  readonly access: 'token';
  readonly prepare: MakeRequest;
  /** Statuses by token; `other` is a token of another instance in the same region. */
  readonly own: number;
  readonly readOnly: number;
  readonly other: number;
}
export interface AccountRow {
  readonly access: 'account';
  readonly prepare: MakeRequest;
  /** Statuses by user. */
  readonly people: Readonly<Record<Person, number>>;
}
export interface OpenRow {
  readonly access: 'open';
  readonly prepare: MakeRequest;
  readonly status: number;
}
/** Operation of a search index. Tokens of other indexes are invalid. */
export interface IndexRow {
  readonly access: 'index';
  readonly prepare: MakeRequest;
  /** Status of the read-only token. The read-write token gets 200. */
  readonly readOnly: number;
}
/** Operation on the session itself. Every session gets 200. */
export interface SessionRow {
  readonly access: 'session';
  readonly prepare: MakeRequest;
}
export type Row = TokenRow | AccountRow | OpenRow | IndexRow | SessionRow;
