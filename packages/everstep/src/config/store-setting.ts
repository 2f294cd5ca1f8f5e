/** Where the store is: a file, or a database. */
import { resolve } from 'node:path';

/** Where everything is kept. */
export type StoreSetting =
  | { readonly kind: 'file' /** Absolute. */; readonly file: string }
  /** May contain a password. */
  | { readonly kind: 'postgres'; readonly url: string };

/** Relative paths start in `cwd`. Throws an Error that says what is allowed. */
export function parseStore(text: string, { cwd }: { readonly cwd: string }): StoreSetting {
  if (/^postgres(ql)?:/i.test(text)) {
    const [, hosts = '', query = ''] = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#@]*)\/[^/?#]+(?:\?(.*))?$/i.exec(text) ?? [];
    if (hosts === '') throw new Error('must name a database, such as postgres://user:password@host:5432/everstep');
    if (hosts.split(',').some((host) => !/^(\[[0-9a-f:.]+\]|[^:[\]]+)(:\d{1,5})?$/i.test(host)))
      throw new Error(
        'must have a host, with or without a port, between the commas: postgres://user:password@one:5432,two:5432/everstep',
      );
    const wanted = new URLSearchParams(query).get('target_session_attrs');
    if (wanted !== null && !['read-write', 'primary', 'any'].includes(wanted))
      throw new Error('cannot have that target_session_attrs: of several servers the primary is used, read-write');
    return { kind: 'postgres', url: text };
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) throw new Error('must be the path of a file, or begin with postgres://');
  if (text === ':memory:') throw new Error('must be a file: runs that are kept in memory would not be durable');
  return { kind: 'file', file: resolve(cwd, text) };
}
