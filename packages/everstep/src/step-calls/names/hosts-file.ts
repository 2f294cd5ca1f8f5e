/** The hosts file, as the operating system's own resolver reads it. DNS is not asked for a name that it contains. */
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';

/** How often the file is checked for changes. */
const CHECK_EVERY_MS = 1_000;

export const HOSTS_FILE =
  process.platform === 'win32'
    ? join(process.env.SystemRoot ?? 'C:\\Windows', 'System32', 'drivers', 'etc', 'hosts')
    : '/etc/hosts';

/** Addresses by name, in the order of the file. Names are in lower case. */
export function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names.map((each) => each.toLowerCase())) {
      const addresses = found.get(name) ?? [];
      if (!addresses.includes(address)) addresses.push(address);
      found.set(name, addresses);
    }
  }
  return found;
}

/** A text file of the system that is read again when it has changed. */
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

  /** The latest text that could be read; empty when there is none. */
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
      // It does not exist, or this process has no free file descriptor: what was read before counts.
    }
    return this.text;
  }
}

export class HostsFile {
  private readonly file: WatchedFile;
  private parsedText = '';
  private parsed: ReadonlyMap<string, readonly string[]> = new Map();

  constructor(path: string, elapsedMs: () => number) {
    this.file = new WatchedFile(path, elapsedMs);
  }

  /** Null when the file does not contain the name. */
  find(name: string): readonly string[] | null {
    const text = this.file.read();
    if (text !== this.parsedText) {
      this.parsed = parseHosts(text);
      this.parsedText = text;
    }
    return this.parsed.get(name) ?? null;
  }
}
