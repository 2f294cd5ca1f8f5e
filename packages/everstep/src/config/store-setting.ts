/** Parses the setting of the store: a file or a database. */
import { resolve } from 'node:path';

/** Location of the store: the absolute path of a file, or the URL of a database, which may contain a password. */
export type StoreSetting = { readonly kind: 'file'; readonly file: string } | { readonly kind: 'postgres'; readonly url: string };

/** Parses the location. Relative paths are resolved against `cwd`. Throws an Error with the allowed values. */
export function parseStore(text: string, { cwd }: { readonly cwd: string }): StoreSetting {
  if (/^postgres(ql)?:/i.test(text)) {
    const [, hosts = '', query = ''] = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#@]*)\/[^/?#]+(?:\?(.*))?$/i.exec(text) ?? [];
    if (hosts === '') throw new Error('must include a database name, such as postgres://user:password@host:5432/everstep');
    if (hosts.split(',').some((host) => !/^(\[[0-9a-f:.]+\]|[^:[\]]+)(:\d{1,5})?$/i.test(host)))
      throw new Error(
        'must list hosts separated by commas, each with an optional port, such as postgres://user:password@one:5432,two:5432/everstep',
      );
    const sessionAttrs = new URLSearchParams(query).get('target_session_attrs');
    if (sessionAttrs !== null && !['read-write', 'primary', 'any'].includes(sessionAttrs))
      throw new Error('must not set this target_session_attrs; only read-write is supported, because Everstep uses the primary');
    return { kind: 'postgres', url: text };
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) throw new Error('must be a file path or a URL that starts with postgres://');
  if (text === ':memory:') throw new Error('must be a file; a store in memory is not durable');
  return { kind: 'file', file: resolve(cwd, text) };
}
