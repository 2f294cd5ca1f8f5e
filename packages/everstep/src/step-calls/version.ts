/** Version of this package, as its package.json has it. */
import { readFileSync } from 'node:fs';

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest && typeof manifest.version === 'string') {
    return manifest.version;
  }
  throw new Error('package.json has no version');
}

export const SERVICE_VERSION = readVersion();

/** What requests call themselves. */
export const USER_AGENT = `Everstep/${SERVICE_VERSION}`;
