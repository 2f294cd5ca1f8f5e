/** The TLS certificate files, read at startup and again when they change or on SIGHUP. */
import { unwatchFile, watchFile } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { TlsPaths } from '../config/config.js';
import type { Log } from '../ports/log.js';
import { StartError } from './start-error.js';

/**
 * Interval at which the files are checked. They are watched by path, because container platforms replace symbolic links to
 * them.
 */
const CHECK_EVERY_MS = 5_000;

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** Reads the files. Rejects with StartError if they are not readable or do not match. */
export async function readTlsFiles(paths: TlsPaths): Promise<TlsFiles> {
  try {
    const [cert, key] = await Promise.all([readFile(paths.cert, 'utf8'), readFile(paths.key, 'utf8')]);
    createSecureContext({ cert, key });
    return { cert, key };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const problem = `The TLS certificate ${paths.cert} (EVERSTEP_TLS_CERT) and the key ${paths.key} (EVERSTEP_TLS_KEY) are not usable`;
    throw new StartError(`${problem}: ${reason}.`, { cause: error });
  }
}

export interface TlsWatch {
  /** Reloads the files. Never rejects: an invalid certificate leaves the previous one in use. */
  reload(): Promise<void>;
  close(): void;
}

/** Calls `onChange` when the files have changed. If only one of them was replaced so far, the next check finds the other. */
export function watchTlsFiles(
  paths: TlsPaths,
  { log, onChange }: { readonly log: Log; readonly onChange: (files: TlsFiles) => void },
): TlsWatch {
  let lastReload: Promise<void> = Promise.resolve();
  const reload = (): Promise<void> => {
    lastReload = lastReload.then(async () => {
      try {
        onChange(await readTlsFiles(paths));
        log.info({ cert: paths.cert }, 'TLS certificate reloaded');
      } catch (error) {
        log.error({ error: String(error) }, 'TLS certificate reload failed, keeping the previous one');
      }
    });
    return lastReload;
  };
  const onFileChange = () => void reload();
  const files = [paths.cert, paths.key];
  for (const file of files) watchFile(file, { persistent: false, interval: CHECK_EVERY_MS }, onFileChange);
  process.on('SIGHUP', onFileChange);
  return {
    reload,
    close() {
      for (const file of files) unwatchFile(file, onFileChange);
      process.off('SIGHUP', onFileChange);
    },
  };
}
