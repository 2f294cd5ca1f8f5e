/** A proxy between nodes and their database that can switch the target, cut connections, or lose responses. */
import { once } from 'node:events';
import { type AddressInfo, createServer, connect as open, type Server, type Socket } from 'node:net';

const COMMIT = Buffer.from('COMMIT\0');

interface Pair {
  readonly node: Socket;
  readonly database: Socket;
}

export class DatabaseProxy {
  /** Port of the database. */
  targetPort: number;
  private readonly host: string;
  /** Whether new connections are refused. */
  isRefusing = false;
  /** Text that cuts the connection on which it is sent; null if no text does. */
  cutAt: string | null = null;
  private isHolding = false;
  /** Number of COMMIT responses to lose, with their connection, after the database has committed. */
  responsesToLose = 0;
  lostResponses = 0;
  private readonly server: Server;
  private readonly pairs = new Set<Pair>();

  constructor(target: number, host = '127.0.0.1') {
    this.targetPort = target;
    this.host = host;
    this.server = createServer((node) => this.accept(node));
  }

  async listen(): Promise<void> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.pairs.size;
  }

  /** Cuts every connection, even during a transaction. */
  cut(): void {
    for (const pair of [...this.pairs]) this.end(pair);
  }

  /** Whether nothing passes in either direction, as in a network that drops packets. New connections also wait. */
  get isHeld(): boolean {
    return this.isHolding;
  }
  set isHeld(held: boolean) {
    this.isHolding = held;
    for (const { node, database } of this.pairs) {
      for (const socket of [node, database]) {
        if (held) socket.pause();
        else socket.resume();
      }
    }
  }

  async close(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }

  private accept(node: Socket): void {
    if (this.isRefusing) {
      node.destroy();
      return;
    }
    const pair: Pair = { node, database: open({ host: this.host, port: this.targetPort }) };
    this.pairs.add(pair);
    let isLosingResponse = false;
    node.on('data', (data) => {
      if (this.cutAt !== null && data.includes(this.cutAt)) {
        this.end(pair);
        return;
      }
      if (this.responsesToLose > 0 && !isLosingResponse && data.includes(COMMIT)) {
        this.responsesToLose--;
        isLosingResponse = true;
      }
      pair.database.write(data);
    });
    pair.database.on('data', (data) => {
      if (!isLosingResponse) {
        node.write(data);
        return;
      }
      // Only the response to a COMMIT contains this text.
      if (!data.includes(COMMIT)) return;
      this.lostResponses++;
      this.end(pair);
    });
    for (const socket of [node, pair.database]) {
      socket.on('error', () => this.end(pair));
      socket.on('close', () => this.end(pair));
    }
    if (this.isHolding) node.pause();
  }

  private end(pair: Pair): void {
    this.pairs.delete(pair);
    pair.node.destroy();
    pair.database.destroy();
  }
}
