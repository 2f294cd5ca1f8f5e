/** Version of this package, from its package.json. */
import { readFileSync } from 'node:fs';

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest && typeof manifest.version === 'string') {
    return manifest.version;
  }
  throw new Error('package.json has no version');
}

export const SERVER_VERSION = readVersion();

/** User agent of requests. */
export const USER_AGENT = `Everstep/${SERVER_VERSION}`;
