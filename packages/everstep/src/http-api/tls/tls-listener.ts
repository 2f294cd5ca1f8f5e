/** TLS of everything that the service listens on: one certificate, which is replaced without closing connections. */
import type { RequestListener, Server } from 'node:http';
import { createServer, type ServerOptions, type Server as TlsServer } from 'node:https';

const MIN_VERSION = 'TLSv1.2';

/** PEM. */
export interface TlsCertificate {
  /** With the certificates that lead to the CA. */
  readonly cert: string;
  readonly key: string;
}

export class TlsListener {
  private certificate: TlsCertificate;
  private readonly servers = new Set<TlsServer>();

  constructor(certificate: TlsCertificate) {
    this.certificate = certificate;
  }

  /** Makes a server which speaks TLS 1.2 and newer, with the certificate of the moment of each connection. */
  createServer(options: ServerOptions, handler: RequestListener): Server {
    const server = createServer({ ...options, ...this.certificate, minVersion: MIN_VERSION }, handler);
    this.servers.add(server);
    server.once('close', () => this.servers.delete(server));
    return server;
  }

  /** For new connections; those that are open keep theirs. Throws for what cannot be used. */
  replace(certificate: TlsCertificate): void {
    for (const server of this.servers) server.setSecureContext({ ...certificate, minVersion: MIN_VERSION });
    this.certificate = certificate;
  }
}
