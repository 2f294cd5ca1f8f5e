/** Reads the hosts file as the operating system does. A name in this file is not looked up by DNS. */
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';

/** Interval at which the file is checked for changes. */
const CHECK_EVERY_MS = 1_000;

export const HOSTS_FILE =
  process.platform === 'win32'
    ? join(process.env.SystemRoot ?? 'C:\\Windows', 'System32', 'drivers', 'etc', 'hosts')
    : '/etc/hosts';

/** Returns addresses by name, in file order. Names are lowercase. */
export function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const addressesByName = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names.map((alias) => alias.toLowerCase())) {
      const addresses = addressesByName.get(name) ?? [];
      if (!addresses.includes(address)) addresses.push(address);
      addressesByName.set(name, addresses);
    }
  }
  return addressesByName;
}

/** A system text file that is read again after it changes. */
export class WatchedFile {
  private readonly path: string;
  private readonly elapsedMs: () => number;
  private checkedAt = Number.NEGATIVE_INFINITY;
  private version = '';
  private text = '';

  constructor(path: string, elapsedMs: () => number) {
    this.path = path;
    this.elapsedMs = elapsedMs;
  }

  /** Returns the latest readable text, or an empty string if there is none. */
  read(): string {
    const now = this.elapsedMs();
    if (now - this.checkedAt < CHECK_EVERY_MS) return this.text;
    this.checkedAt = now;
    try {
      const { mtimeMs, ino, size } = statSync(this.path);
      const version = `${mtimeMs} ${ino} ${size}`;
      if (version === this.version) return this.text;
      this.text = readFileSync(this.path, 'utf8');
      this.version = version;
    } catch {
      // The file does not exist, or no file descriptor is free. The previous text is used.
    }
    return this.text;
  }
}

export class HostsFile {
  private readonly file: WatchedFile;
  private parsedText = '';
  private addressesByName: ReadonlyMap<string, readonly string[]> = new Map();

  constructor(path: string, elapsedMs: () => number) {
    this.file = new WatchedFile(path, elapsedMs);
  }

  /** Returns the addresses of the name; null if the file does not contain it. */
  find(name: string): readonly string[] | null {
    const text = this.file.read();
    if (text !== this.parsedText) {
      this.addressesByName = parseHosts(text);
      this.parsedText = text;
    }
    return this.addressesByName.get(name) ?? null;
  }
}
