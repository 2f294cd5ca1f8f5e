/** Follows the first workflow in README.md with the commands and code shown there. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '@everstep/sdk';
import { allStepsFile } from '../cli/demo/next-steps.js';
import { cleanEnvironment, endAll, readEnvFile, runCommand, SpawnedCli } from '../cli/testing/spawned-cli.js';
import { wordsOf } from './commands.fixture.js';
import { type Page, pageOf, ROOT, read, shellLinesOf } from './pages.fixture.js';

const README = read('README.md');
const STORY = README.slice(README.indexOf('## Your first workflow'), README.indexOf('## Configuration'));
const WORKFLOW_URL = 'worker://shop/order';
const hasCurl = spawnSync('curl', ['--version']).status === 0;

let directory: string;
let story: Page;
let app: ChildProcess | undefined;
let written: Readonly<Record<string, string>> = {};
let client: Client;
let service: SpawnedCli;

/** Returns the only command line that contains the text. */
function lineWith(text: string): string {
  const lines = shellLinesOf(story).filter((each) => each.text.includes(text));
  assert.equal(lines.length, 1, `README.md shows ${lines.length} lines with ${text}`);
  return lines[0]?.text ?? '';
}

before(async () => {
  // The directory is below the root, like a file beside README.md, so that the SDK is found.
  const cache = join(ROOT, 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  directory = mkdtempSync(join(cache, 'first-workflow-'));
  story = pageOf(STORY);

  // npm start prepares the clone and runs everstep dev.
  const start = lineWith('npm start').split(' ');
  assert.deepEqual(start.slice(-2), ['npm', 'start']);
  const settings = Object.fromEntries(start.slice(0, -2).map((each) => each.split('=') as [string, string]));
  // The server starts without NODE_OPTIONS, so that it loads its packages as npm installs them.
  service = new SpawnedCli(['dev'], { cwd: directory, env: { ...settings, EVERSTEP_PORT: '0', NODE_OPTIONS: '' } });
  await service.untilPrinted(/is listening on/);
  written = await readEnvFile(join(directory, settings.EVERSTEP_ENV_FILE ?? ''));
  client = new Client({ baseUrl: written.EVERSTEP_URL ?? '', token: written.EVERSTEP_TOKEN ?? '' });

  const [code, ...others] = story.blocks.filter(({ language }) => language === 'js');
  assert.ok(code && others.length === 0);
  const [program, ...args] = wordsOf(lineWith('order.mjs'));
  assert.deepEqual([program, args.at(-1)], ['node', 'order.mjs']);
  writeFileSync(join(directory, 'order.mjs'), code.text);
  app = spawn(process.execPath, args, { cwd: directory, env: cleanEnvironment(), stdio: ['ignore', 'ignore', 'inherit'] });
});

after(async () => {
  app?.kill('SIGKILL');
  await endAll();
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
});

/** Returns the output of a curl command that is pasted into a shell after the line that sets the variables. */
async function pasted(command: string): Promise<string> {
  const shell = spawn('sh', ['-c', `${lineWith('set -a')}\n${command}`], {
    cwd: directory,
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let printed = '';
  for await (const chunk of shell.stdout) printed += chunk;
  return printed;
}

/** Sends the same request without curl, for machines that lack it. */
async function requested(): Promise<string> {
  const words = wordsOf(lineWith('curl')).map((word) => word.replace(/\$(\w+)/g, (_, name: string) => written[name] ?? ''));
  const valuesOf = (option: string) => words.flatMap((word, at) => (words[at - 1] === option ? [word] : []));
  const [method = ''] = valuesOf('-X');
  const [body = ''] = valuesOf('-d');
  const headers = Object.fromEntries(valuesOf('-H').map((header) => header.split(/: (.*)/s).slice(0, 2) as [string, string]));
  const response = await fetch(words.find((word) => word.startsWith('http')) ?? '', { method, headers, body });
  return response.text();
}

/** Runs an `npx everstep` command of the story with its variables set. */
async function everstep(shown: string, id = ''): Promise<string> {
  const mentioned = story.inline.filter(({ code }) => code === `npx everstep ${shown}`);
  assert.equal(mentioned.length, 1, `README.md does not show: npx everstep ${shown}`);
  const { code, stdout, stderr } = await runCommand(shown.replace(/<\w+>/, id).split(' '), { cwd: directory, env: written });
  assert.deepEqual([code, stderr], [0, '']);
  return stdout;
}

/** Returns the run that sleeps. Rejects when every run ended before it was seen asleep. */
async function sleepingRun(ended: AbortSignal): Promise<string> {
  for (; !ended.aborted; await pause(20)) {
    const { runs } = await client.runs.list();
    const sleeping = runs.find(({ steps }) => JSON.stringify(steps).includes('grace period'));
    if (sleeping) return sleeping.workflowRunId;
  }
  throw new Error('no run was seen sleeping');
}

test('the first workflow in the README runs and returns its result', async () => {
  const ended = new AbortController();
  const requests = [requested(), ...(hasCurl ? [pasted(lineWith('curl'))] : [])];
  const results = Promise.all(requests).finally(() => ended.abort());
  const id = await sleepingRun(ended.signal);
  assert.match(await everstep('runs list'), new RegExp(id));
  assert.match(await everstep('runs explain <id>', id), /grace period/);
  for (const result of await results) {
    const { workflowState, ...rest } = JSON.parse(result);
    assert.equal(workflowState, 'RUN_SUCCESS', result);
    assert.match(JSON.stringify(rest), /o-1: 42 by pay-o-1/);
  }
  const shown = await everstep('runs get <id>', id);
  for (const step of ['reserve', 'charge', 'notify', 'grace period', 'receipt']) assert.match(shown, new RegExp(step));
  assert.match(shown, /RUN_SUCCESS/);
});

test('the failed run in the README is in the dead letter queue and is resumed', async () => {
  const { workflowRunId } = await client.trigger(WORKFLOW_URL, { body: null, retries: 0 });
  assert.equal((await client.runs.result(workflowRunId, { timeout: '30s' })).workflowState, 'RUN_FAILED');
  const [entry] = (await client.dlq.list()).messages;
  assert.ok(entry);
  assert.match(await everstep('dlq list'), new RegExp(entry.dlqId));
  assert.match(await everstep('dlq resume <dlqId>', entry.dlqId), /wfr_\w+/);
});

test('the commands to try after a start without the example work', { skip: !hasCurl }, async () => {
  await service.untilPrinted(/Press Ctrl-C to stop/);
  const steps = readFileSync(allStepsFile(join(directory, '.everstep')), 'utf8');
  const [logs = '', api = '', ...others] = steps.split('\n').filter((line) => line.startsWith('  curl '));
  assert.deepEqual(others, []);
  assert.ok(JSON.parse(await pasted(logs)).runs.length > 0);
  assert.equal(JSON.parse(await pasted(api)).openapi, '3.1.0');
});
