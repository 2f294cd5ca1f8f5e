/** Test fixture: a running server, an app with a workflow, and a command line connected to the server. */
import assert from 'node:assert/strict';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { runInProcess } from './in-process.js';
import { type EndedProcess, endAll, readEnvFile, SpawnedCli, type TestDirectory, testDirectory } from './spawned-cli.js';

export interface CliHarnessKeys {
  readonly current: string;
  readonly next: string;
}

export class CliHarness {
  readonly directory: TestDirectory;
  /** Content of the env file: URL, tokens and keys. */
  readonly serverEnv: Readonly<Record<string, string>>;
  readonly appUrl: string;
  private readonly appServer: Server;

  private constructor(directory: TestDirectory, serverEnv: Readonly<Record<string, string>>, appServer: Server) {
    this.directory = directory;
    this.serverEnv = serverEnv;
    this.appServer = appServer;
    this.appUrl = `http://127.0.0.1:${(appServer.address() as AddressInfo).port}`;
  }

  /** Starts a server and an app. `makeApp` receives the signing keys of the server. */
  static async open(
    makeApp: (signingKeys: CliHarnessKeys) => RequestListener,
    flags: readonly string[] = [],
  ): Promise<CliHarness> {
    const directory = await testDirectory();
    const envFile = join(directory.path, 'service.env');
    const server = new SpawnedCli(['dev', '--no-demo', '--port', '0', '--write-env-file', envFile, ...flags], {
      cwd: directory.path,
    });
    await server.untilPrinted(/is listening on/);
    const serverEnv = await readEnvFile(envFile);
    const { EVERSTEP_CURRENT_SIGNING_KEY: current = '', EVERSTEP_NEXT_SIGNING_KEY: next = '' } = serverEnv;
    const appServer = createServer(makeApp({ current, next }));
    await new Promise<void>((resolve) => appServer.listen(0, '127.0.0.1', resolve));
    return new CliHarness(directory, serverEnv, appServer);
  }

  async close(): Promise<void> {
    await endAll();
    this.appServer.closeAllConnections();
    this.appServer.close();
    await this.directory.remove();
  }

  /** Runs a command in this process. */
  runIn(env: Readonly<Record<string, string>>, args: readonly string[]): Promise<EndedProcess> {
    return runInProcess(args, { cwd: this.directory.path, env });
  }

  async everstep(...args: readonly string[]): Promise<EndedProcess> {
    const { EVERSTEP_URL = '', EVERSTEP_TOKEN = '' } = this.serverEnv;
    return this.runIn({ EVERSTEP_URL, EVERSTEP_TOKEN }, args);
  }

  /** Returns the output of a command that must succeed. */
  async textOf(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.everstep(...args);
    assert.deepEqual([code, stderr], [0, '']);
    return stdout;
  }

  /** Returns the output of the same command with --json. */
  async jsonOf(...args: readonly string[]) {
    return JSON.parse(await this.textOf(...args, '--json'));
  }
}
