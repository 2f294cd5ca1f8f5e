/**
 * Checks the TLS settings in the URL of a database: `sslmode`, and the files of certificates.
 *
 * The library treats `prefer`, `require` and `verify-ca` as `verify-full`, and announces that its next major version will weaken
 * them. Here they permanently mean `verify-full`: an upgrade never makes a URL weaker.
 */
import { accessSync, constants } from 'node:fs';
import { StoreOpenError } from './errors.js';

const MODE_PARAMETER = /([?&]sslmode=)([^&#]*)/i;
const VERIFYING_MODES: readonly string[] = ['prefer', 'require', 'verify-ca', 'verify-full'];
const MODES: readonly string[] = ['disable', 'no-verify', ...VERIFYING_MODES];
const FILE_PARAMETERS = ['sslrootcert', 'sslcert', 'sslkey'];
const LOCAL_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|)(:\d+)?$/i;

const parametersOf = (url: string): URLSearchParams => new URLSearchParams(/\?([^#]*)/.exec(url)?.[1] ?? '');

/** Returns the URL for the library. The modes in a URL with `uselibpqcompat=true` have the same meaning as in libpq. */
export function withVerification(url: string): string {
  if (parametersOf(url).get('uselibpqcompat') === 'true') return url;
  return url.replace(MODE_PARAMETER, (parameter, name: string, mode: string) =>
    VERIFYING_MODES.includes(mode) ? `${name}verify-full` : parameter,
  );
}

/** Throws StoreOpenError for an unknown mode and for an unreadable file. `location` contains no password. */
export function checkTls(url: string, location: string): void {
  const parameters = parametersOf(url);
  const mode = parameters.get('sslmode');
  if (mode !== null && !MODES.includes(mode))
    throw new StoreOpenError(
      'refused',
      `${location} cannot be used: sslmode must be one of ${MODES.join(', ')}; it is "${mode}".`,
    );
  for (const name of FILE_PARAMETERS) {
    const path = parameters.get(name);
    if (path === null) continue;
    try {
      accessSync(path, constants.R_OK);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new StoreOpenError('refused', `${location} cannot be used: the file of ${name} cannot be read: ${reason}`, error);
    }
  }
}

/** Returns a notice for the operator about settings that are weaker than they may seem; null if there are none. */
export function tlsNotice(url: string): string | null {
  const parameters = parametersOf(url);
  const mode = parameters.get('sslmode');
  if (mode === 'no-verify')
    return 'the connection to the database is encrypted, but its certificate is not verified; use sslmode=verify-full';
  if (mode !== null && mode !== 'verify-full' && VERIFYING_MODES.includes(mode) && parameters.get('uselibpqcompat') !== 'true')
    return `sslmode=${mode} is deprecated and means verify-full; write sslmode=verify-full`;
  const hosts = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#@]*)/i.exec(url)?.[1] ?? '';
  const isUnencrypted =
    (mode === null || mode === 'disable') && !FILE_PARAMETERS.some((name) => parameters.has(name)) && !process.env.PGSSLMODE;
  if (isUnencrypted && !parameters.has('host') && !hosts.split(',').every((host) => LOCAL_HOST.test(host)))
    return 'the connection to the database is not encrypted; use sslmode=verify-full unless its network is trusted';
  return null;
}
