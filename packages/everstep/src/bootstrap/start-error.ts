/** The reason why the server could not start, in one sentence for the operator. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

const FILE_REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a directory',
  EEXIST: 'a file with this name exists',
  EISDIR: 'it is a directory',
};

export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Returns the error for a file. `problem` starts the sentence: "The data directory /x is not usable". */
export function fileError(problem: string, error: unknown): StartError {
  return new StartError(`${problem}: ${FILE_REASONS[codeOf(error)] ?? messageOf(error)}.`, { cause: error });
}

/** The settings to change when an address is not available. */
export interface ListenSettings {
  readonly port: string;
  readonly host: string;
}
const RUNTIME_SETTINGS: ListenSettings = { port: 'EVERSTEP_PORT or --port', host: 'EVERSTEP_HOST or --host' };

/** Returns the error for an address on which the server cannot listen: a StartError if the operator can fix it, otherwise `error`. */
export function listenError(host: string, port: number, error: unknown, settings: ListenSettings = RUNTIME_SETTINGS): unknown {
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return new StartError(`${address} is in use by another program. Stop it, or choose another port with ${settings.port}.`, {
        cause: error,
      });
    case 'EACCES':
      return new StartError(
        `This user is not allowed to listen on ${address}. Ports below 1024 require more privileges; choose another port with ${settings.port}.`,
        {
          cause: error,
        },
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new StartError(`${host} is not an address of this machine. Choose another address with ${settings.host}.`, {
        cause: error,
      });
    default:
      return error;
  }
}

/** Returns the error for an address that is a wildcard if the addresses of the machine are not readable. */
export function interfacesError(host: string, error: unknown, settings: ListenSettings = RUNTIME_SETTINGS): StartError {
  const problem = `The network interfaces are not readable, so the server cannot listen on ${host}`;
  const remedy = `Allow AF_NETLINK sockets, or choose the address of one interface with ${settings.host}.`;
  return new StartError(`${problem}: ${messageOf(error)}. ${remedy}`, { cause: error });
}
