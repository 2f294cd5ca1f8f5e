/** TLS for all listeners, with one certificate that can be replaced without closing connections. */
import type { RequestListener, Server } from 'node:http';
import { createServer, type ServerOptions, type Server as TlsServer } from 'node:https';

const MIN_VERSION = 'TLSv1.2';

/** Certificate and key in PEM format. */
export interface TlsCertificate {
  /** Certificate with the intermediate certificates. */
  readonly cert: string;
  readonly key: string;
}

export class TlsListener {
  private certificate: TlsCertificate;
  private readonly servers = new Set<TlsServer>();

  constructor(certificate: TlsCertificate) {
    this.certificate = certificate;
  }

  /** Creates a server that supports TLS 1.2 and later. Each new connection uses the current certificate. */
  createServer(options: ServerOptions, handler: RequestListener): Server {
    const server = createServer({ ...options, ...this.certificate, minVersion: MIN_VERSION }, handler);
    this.servers.add(server);
    server.once('close', () => this.servers.delete(server));
    return server;
  }

  /** Replaces the certificate for new connections. Open connections keep the old one. Throws when the certificate is invalid. */
  replace(certificate: TlsCertificate): void {
    for (const server of this.servers) server.setSecureContext({ ...certificate, minVersion: MIN_VERSION });
    this.certificate = certificate;
  }
}
