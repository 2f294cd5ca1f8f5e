/** Parsers for addresses to listen on. Each throws an Error with the allowed values. */
import { isIP } from 'node:net';

export function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new Error('must be a whole number from 0 to 65535 (0 uses a free port)');
  return port;
}

export function parseHost(text: string): string {
  if (isIP(text) || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text)) return text;
  throw new Error('must be an IP address or a host name, without a port');
}

/** An address to listen on. */
export interface ListenAddress {
  /** Null means the host of the runtime API. */
  readonly host: string | null;
  readonly port: number;
}

export function parseListenAddress(text: string): ListenAddress {
  const groups = /^(?:(?:\[([^\]]+)\]|([^:]+)):)?(\d{1,5})$/.exec(text);
  if (!groups) throw new Error('must be a port, or an address and a port such as 127.0.0.1:8081 or [::1]:8081');
  const [, bracketedHost, plainHost, port = ''] = groups;
  const host = bracketedHost ?? plainHost ?? null;
  return { host: host === null ? null : parseHost(host), port: parsePort(port) };
}
