/** A running service, an app with a workflow, and the command line pointed at the service: what tests of commands need. */
import assert from 'node:assert/strict';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { runCli } from '../program.js';
import { type Ended, endAll, readEnvFile, SpawnedCli, type TestDirectory, testDirectory } from './spawned-cli.js';

export interface CliWorldKeys {
  readonly current: string;
  readonly next: string;
}

export class CliWorld {
  readonly directory: TestDirectory;
  /** As the service wrote it: URL, tokens, keys. */
  readonly written: Readonly<Record<string, string>>;
  readonly appUrl: string;
  private readonly app: Server;

  private constructor(directory: TestDirectory, written: Readonly<Record<string, string>>, app: Server) {
    this.directory = directory;
    this.written = written;
    this.app = app;
    this.appUrl = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
  }

  /** `makeApp` gets the keys that the service signs with. */
  static async open(makeApp: (signingKeys: CliWorldKeys) => RequestListener, flags: readonly string[] = []): Promise<CliWorld> {
    const directory = await testDirectory();
    const envFile = join(directory.path, 'service.env');
    const service = new SpawnedCli(['dev', '--no-demo', '--port', '0', '--write-env-file', envFile, ...flags], {
      cwd: directory.path,
    });
    await service.printed(/listens at/);
    const written = await readEnvFile(envFile);
    const { EVERSTEP_CURRENT_SIGNING_KEY: current = '', EVERSTEP_NEXT_SIGNING_KEY: next = '' } = written;
    const app = createServer(makeApp({ current, next }));
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
    return new CliWorld(directory, written, app);
  }

  async close(): Promise<void> {
    await endAll();
    this.app.closeAllConnections();
    this.app.close();
    await this.directory.remove();
  }

  /** In this process: what a command does does not depend on being one of its own. */
  async runIn(env: Readonly<Record<string, string>>, args: readonly string[]): Promise<Ended> {
    let stdout = '';
    let stderr = '';
    const code = await runCli(args, {
      screen: {
        write: (text) => {
          stdout += text;
        },
        colours: false,
        isTerminal: false,
      },
      complain: (text) => {
        stderr += text;
      },
      env,
      cwd: this.directory.path,
    });
    return { code, stdout, stderr };
  }

  async everstep(...args: readonly string[]): Promise<Ended> {
    const { EVERSTEP_URL = '', EVERSTEP_TOKEN = '' } = this.written;
    return this.runIn({ EVERSTEP_URL, EVERSTEP_TOKEN }, args);
  }

  /** What a command prints that is to succeed. */
  async textOf(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.everstep(...args);
    assert.deepEqual([code, stderr], [0, '']);
    return stdout;
  }

  /** The same with --json. */
  async jsonOf(...args: readonly string[]) {
    return JSON.parse(await this.textOf(...args, '--json'));
  }
}
