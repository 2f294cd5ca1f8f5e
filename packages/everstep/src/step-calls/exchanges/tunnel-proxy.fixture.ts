/** A real HTTP proxy (CONNECT) that connects every tunnel to this machine, whatever the destination's name. */
import { createServer, type IncomingMessage } from 'node:http';
import net, { type AddressInfo } from 'node:net';

export interface TunnelProxy {
  readonly port: number;
  /** Requests for tunnels that the proxy has received. */
  receivedRequests: readonly Pick<IncomingMessage, 'url' | 'headers'>[];
  /** Status of the responses. */
  status: number;
  close(): Promise<void>;
}

export async function openTunnelProxy(): Promise<TunnelProxy> {
  const sockets = new Set<net.Socket>();
  const track = (socket: net.Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  };
  const server = createServer((_request, response) => response.writeHead(405).end());
  server.on('connection', track);
  server.on('connect', ({ url = '', headers }, socket, head) => {
    proxy.receivedRequests = [...proxy.receivedRequests, { url, headers }];
    const { status } = proxy;
    if (status !== 200) return socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
    const upstream = net.connect(Number(url.slice(url.lastIndexOf(':') + 1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      socket.pipe(upstream).pipe(socket);
    });
    track(upstream);
    upstream.once('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: TunnelProxy = {
    port: (server.address() as AddressInfo).port,
    receivedRequests: [],
    status: 200,
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return proxy;
}
