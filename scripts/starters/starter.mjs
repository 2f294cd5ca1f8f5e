/** Copies the starters in examples/starters, and starts the processes that a test of them needs. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../packages/everstep/dist/stores/postgres/testing/server-process.js';
import { ROOT } from '../setup/index.mjs';

const STARTERS = join(ROOT, 'examples', 'starters');
const EVERSTEP = join(ROOT, 'packages', 'everstep', 'bin', 'everstep.js');
const IS_WINDOWS = process.platform === 'win32';
const READY_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 10_000;
/** Maximum duration of a command such as `npm install`. */
const COMMAND_TIMEOUT_MS = 300_000;

/** Names of the starters, which are the names of their folders. */
export const STARTER_NAMES = readdirSync(STARTERS, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** Returns the absolute path of a file of a starter, or of its folder. */
export const starterPath = (name, path = '') => join(STARTERS, name, path);

/** Copies a starter without the files of an installation or a build. */
export function copyStarter(name, to) {
  const excluded = /[\\/](node_modules|\.next|\.everstep|\.env)$/;
  cpSync(starterPath(name), to, { recursive: true, filter: (source) => !excluded.test(source) });
}

/** Returns the environment for commands and processes, without settings that are meant for other servers and apps. */
export function cleanEnvironment(env = process.env) {
  const excludedNames = /^(EVERSTEP_.*|NODE_ENV|NODE_OPTIONS|PORT|WORKFLOW_URL)$/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !excludedNames.test(name)));
}

/** Runs a command to its end and returns its output. Throws an Error with the output if it fails. */
export function run(command, args, { cwd, env = cleanEnvironment() }) {
  const options = { cwd, env, encoding: 'utf8', timeout: COMMAND_TIMEOUT_MS, shell: IS_WINDOWS && command === 'npm' };
  const { status, error, stdout, stderr } = spawnSync(command, args, options);
  if (status === 0) return stdout;
  throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? `exit code ${status}`}\n${stdout}\n${stderr}`);
}

/** Packs the built SDK into a folder as `npm publish` would, and returns the absolute path of the archive. */
export function packSdk(directory) {
  const cwd = join(ROOT, 'packages', 'sdk');
  const packOutput = run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', directory], { cwd });
  return join(directory, JSON.parse(packOutput)[0].filename);
}

const runningChildren = new Set();

function kill(child, signal) {
  try {
    if (IS_WINDOWS) child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // The group has ended.
  }
}
process.once('exit', () => {
  for (const child of runningChildren) kill(child, 'SIGKILL');
});

/** A process and its child processes, such as `npm run dev`. */
class ProcessGroup {
  constructor(command, args, options) {
    this.output = '';
    this.child = spawn(command, args, { ...options, detached: !IS_WINDOWS, stdio: ['ignore', 'pipe', 'pipe'] });
    runningChildren.add(this.child);
    this.ended = new Promise((resolve) => this.child.once('close', resolve));
    this.child.once('error', (error) => (this.output += error.message));
    for (const stream of [this.child.stdout, this.child.stderr]) stream.on('data', (chunk) => (this.output += chunk));
  }

  /** Resolves with the first truthy value of `attempt`. Rejects with the output if the process ends or takes too long. */
  async waitUntilReady(attempt) {
    const deadline = performance.now() + READY_TIMEOUT_MS;
    for (;;) {
      const value = await attempt();
      if (value) return value;
      const { exitCode, signalCode } = this.child;
      if (exitCode !== null || signalCode !== null)
        throw new Error(`the process ended with ${signalCode ?? exitCode}:\n${this.output}`);
      if (performance.now() > deadline) throw new Error(`the process is not ready after ${READY_TIMEOUT_MS} ms:\n${this.output}`);
      await pause(20);
    }
  }

  async stop() {
    kill(this.child, 'SIGTERM');
    const timer = setTimeout(() => kill(this.child, 'SIGKILL'), STOP_TIMEOUT_MS);
    await this.ended;
    clearTimeout(timer);
    runningChildren.delete(this.child);
  }
}

/**
 * Starts Everstep on a free port with an empty data directory.
 *
 * @param {string} directory for its data
 * @returns {Promise<{ appEnvironment: string, stop(): Promise<void> }>} `appEnvironment` is the output of `everstep env`
 */
export async function startEverstep(directory) {
  const dataDir = join(directory, 'data');
  const envFile = join(directory, 'service.env');
  const env = cleanEnvironment();
  const args = [EVERSTEP, 'dev', '--no-demo', '--port', '0', '--data-dir', dataDir, '--write-env-file', envFile];
  const group = new ProcessGroup(process.execPath, args, { cwd: directory, env });
  try {
    await group.waitUntilReady(() => existsSync(envFile) && readFileSync(envFile, 'utf8'));
    const appEnvironment = run(process.execPath, [EVERSTEP, 'env', '--data-dir', dataDir], { cwd: directory, env });
    return { appEnvironment, stop: () => group.stop() };
  } catch (error) {
    await group.stop();
    throw error;
  }
}

/**
 * Starts the app of a starter, triggers its workflow with the program of the starter, and checks the result.
 *
 * @param {string} directory the copy of the starter, with its dependencies and `.env`
 * @param {readonly string[]} app command that starts the app
 * @param {readonly string[]} trigger command that triggers a run
 */
export async function checkWorkflow(directory, [command, ...args], [triggerCommand, ...triggerArgs]) {
  const port = String(await freePort());
  const env = { ...cleanEnvironment(), PORT: port, NEXT_TELEMETRY_DISABLED: '1' };
  const group = new ProcessGroup(command, args, { cwd: directory, env });
  try {
    // An endpoint responds to a GET with 405.
    await group.waitUntilReady(async () => {
      const response = await fetch(`http://127.0.0.1:${port}/order`).catch(() => null);
      return response?.status === 405;
    });
    const stepRequest = { method: 'POST', headers: { 'Svc-Workflow-Protocol': '1' }, body: '{}' };
    const unsignedResponse = await fetch(`http://127.0.0.1:${port}/order`, stepRequest);
    assert.equal(unsignedResponse.status, 401, 'the endpoint rejects a request without a signature');
    const output = run(triggerCommand, triggerArgs, { cwd: directory, env });
    assert.match(output, /workflowState: 'RUN_SUCCESS'/, group.output);
    assert.match(output, /result: \{\s*orderId: 'o-1',\s*paymentId: 'pay-o-1',\s*amountCents: 4200\s*\}/);
    const [runId] = /wfr_\w+/.exec(output) ?? [];
    assert.ok(runId, output);
    return runId;
  } finally {
    await group.stop();
  }
}

/** Writes `.env` as step 3 of the README of a starter does. */
export const writeEnvironment = (directory, { appEnvironment }) => writeFileSync(join(directory, '.env'), appEnvironment);
