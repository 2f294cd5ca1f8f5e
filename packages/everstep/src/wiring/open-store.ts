/** Opens the configured store and the documents of search indexes. */
import { access, constants } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import type { ControlChannel } from '../backup/control-channel.js';
import { type ControlCommandOptions, handleControlCommands } from '../backup/control-commands.js';
import { credentialsFile } from '../bootstrap/credentials.js';
import { makePrivateDirectory } from '../bootstrap/data-dir.js';
import { fileError, StartError } from '../bootstrap/start-error.js';
import type { Config } from '../config/config.js';
import type { Observer } from '../ports/observer.js';
import type { SearchDocuments } from '../ports/stores/search-store.js';
import type { Store } from '../ports/stores/store.js';
import { StoreUnavailableError } from '../ports/stores/store-unavailable.js';
import { SERVER_VERSION } from '../step-calls/version.js';
import type { OpenedNode } from '../stores/postgres/index.js';
import { openSqliteStore, StoreOpenError } from '../stores/sqlite/index.js';
import { openSearchDocuments } from '../stores/sqlite/search/index.js';

/** Directory beside the store with a file per search index. */
const SEARCH_DIRECTORY = 'search';

/** The documents of search indexes, and the command socket that backs them up with the store. */
export interface OpenedDocuments {
  readonly documents: SearchDocuments;
  /** Command socket; null for a database, which has its own backup tools. */
  readonly control: ControlChannel | null;
}

/** The opened store, its node, and a function that opens the documents of its search indexes. */
export interface OpenedStore {
  readonly store: Store;
  /** Node of the cluster; null for an embedded store. */
  readonly node: OpenedNode | null;
  readonly openDocuments: (
    onFailure: (error: Error) => void,
    commands: Pick<ControlCommandOptions, 'rotate' | 'record'>,
  ) => Promise<OpenedDocuments>;
  /** Location of the store for display, without secrets. */
  readonly location: string;
}

/**
 * Opens an embedded store, and creates it if it is missing. Rejects with StartError, or with StoreUnavailableError if this may
 * succeed later, for example because the disk is full.
 */
export async function openFile(
  file: string,
  { dataDir, acceptLoss }: Config,
  log: Logger,
  { onDiskFailure, observer }: { readonly onDiskFailure: (error: Error) => void; readonly observer: Observer },
): Promise<OpenedStore> {
  try {
    await makePrivateDirectory(dirname(file));
    await access(dirname(file), constants.W_OK);
  } catch (error) {
    throw fileError(`The store ${file} is not usable`, error);
  }
  try {
    const store = await openSqliteStore({
      file,
      acceptLoss,
      // Credentials belong to this file only if it is in the data directory.
      companionFiles: dirname(file) === dataDir ? [credentialsFile(dataDir)] : [],
      onDiskFailure,
      onSync: (durationMs) => observer.logSynced(durationMs),
      onNotice: ({ event, fields }) => log.warn(fields, event),
    });
    const directory = join(dirname(file), SEARCH_DIRECTORY);
    const openDocuments: OpenedStore['openDocuments'] = async (onFailure, commands) => {
      const documents = openSearchDocuments({ directory, onFailure });
      return { documents, control: await handleControlCommands({ dataDir, store, documents, log, ...commands }) };
    };
    return { store, node: null, openDocuments, location: file };
  } catch (error) {
    if (error instanceof StoreOpenError) throw new StartError(error.message, { cause: error });
    if (error instanceof StoreUnavailableError) throw error;
    throw fileError(`Cannot open the store ${file}`, error);
  }
}

/**
 * Opens a database. Rejects with StoreUnavailableError if it cannot be reached and the server may wait for it. In
 * development mode, it rejects with StartError instead, because the URL is more likely to be wrong.
 */
export async function openDatabase(
  url: string,
  { mode, nodeLeaseMs: leaseMs, nodeUrl, commits, virtualClock }: Config,
  log: Logger,
  observer: Observer,
): Promise<OpenedStore> {
  if (virtualClock)
    throw new StartError('A virtual clock requires the embedded store; nodes on a database use the time of the database.');
  // The modules are loaded only here, so that a server with an embedded store starts faster.
  const [{ openPostgresNode, StoreOpenError: PostgresOpenError }, { openPostgresSearchDocuments }] = await Promise.all([
    import('../stores/postgres/index.js'),
    import('../stores/postgres/search/index.js'),
  ]);
  try {
    const facts = { host: hostname(), version: SERVER_VERSION, url: nodeUrl };
    const node = await openPostgresNode({
      ...{ url, log, facts, leaseMs },
      ...(commits === null ? {} : { commits }),
      onCommit: (durationMs) => observer.databaseCommitted(durationMs),
      onTakeover: (nodes) => observer.nodesLost(nodes),
    });
    const openDocuments: OpenedStore['openDocuments'] = async (onFailure) => ({
      documents: openPostgresSearchDocuments({ url, log, onFailure }),
      control: null,
    });
    return { store: node.store, node, openDocuments, location: node.location };
  } catch (error) {
    if (error instanceof PostgresOpenError && error.code === 'unreachable' && mode === 'serve')
      throw new StoreUnavailableError(error.message, { cause: error });
    if (error instanceof PostgresOpenError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}
