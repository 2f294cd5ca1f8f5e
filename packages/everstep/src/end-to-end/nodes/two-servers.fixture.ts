/**
 * A primary and its synchronous standby. Each node reaches both through its own proxies. The standby can be promoted repeatedly.
 */
import assert from 'node:assert/strict';
import { DatabaseProxy } from '../../stores/postgres/testing/database-proxy.js';
import { OwnServer } from '../../stores/postgres/testing/own-server.js';

/** The proxies of one node, for both hosts in its URL. */
type Routes = readonly [DatabaseProxy, DatabaseProxy];

export class TwoServers {
  primary: OwnServer;
  standby: OwnServer;
  private readonly firstServer: OwnServer;
  private readonly routes: readonly Routes[];
  /** Index of the host that is the primary. */
  private primaryIndex: 0 | 1 = 0;

  private constructor(primary: OwnServer, standby: OwnServer, routes: readonly Routes[]) {
    this.primary = primary;
    this.firstServer = primary;
    this.standby = standby;
    this.routes = routes;
  }

  /** Creates the servers and the proxies for a number of nodes. */
  static async start(nodes: number): Promise<TwoServers> {
    const primary = await OwnServer.start();
    assert.ok(primary);
    const standby = await primary.startStandby();
    const routes = Array.from(
      { length: nodes },
      (): Routes => [new DatabaseProxy(primary.port), new DatabaseProxy(standby.port)],
    );
    await Promise.all(routes.flat().map((proxy) => proxy.listen()));
    return new TwoServers(primary, standby, routes);
  }

  /** Returns the URL for a node. */
  url(node: number): string {
    const hosts = this.routesOf(node).map(({ port }) => `127.0.0.1:${port}`);
    return `postgres://everstep@${hosts.join(',')}/postgres`;
  }

  /** Returns the proxy of a node to the current primary. */
  toPrimary(node: number): DatabaseProxy {
    return this.routesOf(node)[this.primaryIndex];
  }

  /** Returns the proxy of a node to the current standby. */
  toStandby(node: number): DatabaseProxy {
    return this.routesOf(node)[this.primaryIndex === 0 ? 1 : 0];
  }

  /** Promotes the standby; the old primary keeps running. The two hosts swap their roles. */
  async promote(): Promise<void> {
    await this.standby.promote();
    [this.primary, this.standby] = [this.standby, this.primary];
    this.primaryIndex = this.primaryIndex === 0 ? 1 : 0;
  }

  /** Ends the replaced server and starts a new standby on its host. This restarts the primary. */
  async follow(): Promise<void> {
    await this.standby.end('SIGKILL');
    this.standby = await this.primary.startStandby();
    for (const [node] of this.routes.entries()) {
      this.toStandby(node).targetPort = this.standby.port;
      this.toStandby(node).cut();
    }
  }

  async dispose(): Promise<void> {
    await Promise.all(this.routes.flat().map((proxy) => proxy.close()));
    await this.primary.end('SIGKILL');
    await this.standby.end('SIGKILL');
    await this.firstServer.dispose();
  }

  private routesOf(node: number): Routes {
    const routes = this.routes[node];
    assert.ok(routes);
    return routes;
  }
}
