/** A primary and its synchronous standby, which each node reaches through proxies of its own. The standby may be promoted again and again. */
import assert from 'node:assert/strict';
import { OwnServer } from '../../stores/postgres/testing/own-server.js';
import { DatabaseProxy } from './database-proxy.fixture.js';

/** Of one node, to each of the two places that its URL names. */
type Routes = readonly [DatabaseProxy, DatabaseProxy];

export class TwoServers {
  primary: OwnServer;
  standby: OwnServer;
  private readonly first: OwnServer;
  private readonly routes: readonly Routes[];
  /** Which of the two places leads to the primary. */
  private place: 0 | 1 = 0;

  private constructor(primary: OwnServer, standby: OwnServer, routes: readonly Routes[]) {
    this.primary = primary;
    this.first = primary;
    this.standby = standby;
    this.routes = routes;
  }

  /** For so many nodes. */
  static async start(nodes: number): Promise<TwoServers> {
    const primary = await OwnServer.start();
    assert.ok(primary);
    const standby = await primary.follow();
    const routes = Array.from(
      { length: nodes },
      (): Routes => [new DatabaseProxy(primary.port), new DatabaseProxy(standby.port)],
    );
    await Promise.all(routes.flat().map((proxy) => proxy.listen()));
    return new TwoServers(primary, standby, routes);
  }

  /** The URL for a node. */
  url(node: number): string {
    const hosts = this.routesOf(node).map(({ port }) => `127.0.0.1:${port}`);
    return `postgres://everstep@${hosts.join(',')}/postgres`;
  }

  /** The way of a node to the present primary. */
  toPrimary(node: number): DatabaseProxy {
    return this.routesOf(node)[this.place];
  }

  /** The way of a node to the present standby. */
  toStandby(node: number): DatabaseProxy {
    return this.routesOf(node)[this.place === 0 ? 1 : 0];
  }

  /** Promotes the standby; the old primary continues. From now on they are each other's place. */
  async promote(): Promise<void> {
    await this.standby.promote();
    [this.primary, this.standby] = [this.standby, this.primary];
    this.place = this.place === 0 ? 1 : 0;
  }

  /** Ends the server that was replaced, and has a new standby follow the primary in its place. The primary is restarted for that. */
  async follow(): Promise<void> {
    await this.standby.end('SIGKILL');
    this.standby = await this.primary.follow();
    for (const [node] of this.routes.entries()) {
      this.toStandby(node).target = this.standby.port;
      this.toStandby(node).cut();
    }
  }

  async dispose(): Promise<void> {
    await Promise.all(this.routes.flat().map((proxy) => proxy.close()));
    await this.primary.end('SIGKILL');
    await this.standby.end('SIGKILL');
    await this.first.dispose();
  }

  private routesOf(node: number): Routes {
    const routes = this.routes[node];
    assert.ok(routes);
    return routes;
  }
}
