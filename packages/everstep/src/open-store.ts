/** Opens the store that is configured, and the documents of search indexes beside it. */
import { access, constants } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { type AnsweringOptions, answerCommands } from './backup/answering.js';
import type { ControlChannel } from './backup/control-channel.js';
import { credentialsFile } from './bootstrap/credentials.js';
import { makePrivateDirectory } from './bootstrap/data-dir.js';
import { fileError, StartError } from './bootstrap/start-error.js';
import type { Config } from './config/config.js';
import type { SearchDocuments } from './ports/search-store.js';
import type { Store } from './ports/store.js';
import { SERVICE_VERSION } from './step-calls/version.js';
import type { OpenedNode } from './stores/postgres/index.js';
import { openSqliteStore, StoreOpenError } from './stores/sqlite/index.js';
import { openSearchDocuments } from './stores/sqlite/search/index.js';

/** Beside the store: a file for each search index that has documents. */
const SEARCH_DIRECTORY = 'search';

/** The documents of search indexes, and who copies them with the store. */
export interface OpenedDocuments {
  readonly documents: SearchDocuments;
  /** Null where the database is backed up by its own means. */
  readonly control: ControlChannel | null;
}

/** The store, and what belongs to it. */
export interface Opened {
  readonly store: Store;
  /** Null where this process is alone on its store. */
  readonly node: OpenedNode | null;
  readonly openDocuments: (
    onFailure: (error: Error) => void,
    commands: Pick<AnsweringOptions, 'rotate' | 'record'>,
  ) => Promise<OpenedDocuments>;
  /** For people; without secrets. */
  readonly place: string;
}

export async function openFile(
  file: string,
  { dataDir, acceptLoss }: Config,
  log: Logger,
  onDiskFailure: (error: Error) => void,
): Promise<Opened> {
  try {
    await makePrivateDirectory(dirname(file));
    await access(dirname(file), constants.W_OK);
  } catch (error) {
    throw fileError(`The store ${file} cannot be used`, error);
  }
  try {
    const store = await openSqliteStore({
      file,
      acceptLoss,
      // The credentials of a store that is elsewhere say nothing of this file.
      belongings: dirname(file) === dataDir ? [credentialsFile(dataDir)] : [],
      onDiskFailure,
      onNotice: ({ event, fields }) => log.warn(fields, event),
    });
    const directory = join(dirname(file), SEARCH_DIRECTORY);
    const openDocuments: Opened['openDocuments'] = async (onFailure, commands) => {
      const documents = openSearchDocuments({ directory, onFailure });
      return { documents, control: await answerCommands({ dataDir, store, documents, log, ...commands }) };
    };
    return { store, node: null, openDocuments, place: file };
  } catch (error) {
    if (error instanceof StoreOpenError) throw new StartError(error.message, { cause: error });
    throw fileError(`The store ${file} cannot be opened`, error);
  }
}

export async function openDatabase(
  url: string,
  { nodeLeaseMs: leaseMs, commits, virtualClock }: Config,
  log: Logger,
): Promise<Opened> {
  if (virtualClock) throw new StartError('A virtual clock goes with the embedded store only: nodes on a database have its time.');
  // Only now: a service on a file starts sooner without it.
  const [{ openPostgresNode, StoreOpenError: PostgresOpenError }, { openPostgresSearchDocuments }] = await Promise.all([
    import('./stores/postgres/index.js'),
    import('./stores/postgres/search/index.js'),
  ]);
  try {
    const facts = { host: hostname(), version: SERVICE_VERSION };
    const node = await openPostgresNode({ url, log, facts, leaseMs, commits });
    const openDocuments: Opened['openDocuments'] = async (onFailure) => ({
      documents: openPostgresSearchDocuments({ url, log, onFailure }),
      control: null,
    });
    return { store: node.store, node, openDocuments, place: node.place };
  } catch (error) {
    if (error instanceof PostgresOpenError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}
